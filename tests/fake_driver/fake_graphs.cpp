// tests/fake_driver/fake_graphs.cpp -- stream capture and graphs of the fake driver: nodes are numbers.
#include "tests/fake_driver/fake_state.h"

using namespace kiln::fake;

extern "C" {

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  STEP("cuStreamBeginCapture", stream_text(stream));
  state().captured = stream;
  state().nodes = 0;
  captured_kernels().clear();
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  state().captured = nullptr;
  *graph = nullptr;
  STEP("cuStreamEndCapture", stream_text(stream));
  *graph = keep(new CUgraph_st{state().nodes, captured_kernels()});
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCaptureInfo_v2(CUstream, CUstreamCaptureStatus* status, cuuint64_t*, CUgraph*,
                                   const CUgraphNode** nodes, std::size_t* count) {
  STEP("cuStreamGetCaptureInfo");
  static thread_local CUgraphNode node;
  ++state().nodes;
  node = reinterpret_cast<CUgraphNode>(static_cast<std::uintptr_t>(++next_id));
  *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  *nodes = &node;
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult cuGraphInstantiate(CUgraphExec* instance, CUgraph graph, unsigned long long) {
  STEP("cuGraphInstantiate", std::to_string(graph->nodes));
  *instance = keep(new CUgraphExec_st{graph->nodes, graph->kernels});
  return CUDA_SUCCESS;
}
CUresult cuGraphExecUpdate(CUgraphExec instance, CUgraph graph, CUgraphExecUpdateResultInfo*) {
  STEP("cuGraphExecUpdate");
  return instance->nodes == graph->nodes ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* settings) {
  STEP("cuGraphExecKernelNodeSetParams", "node=" + std::to_string(reinterpret_cast<std::uintptr_t>(node)) +
                                             " grid=" + std::to_string(settings->gridDimX) +
                                             " block=" + std::to_string(settings->blockDimX));
  copy_arguments(settings->kernelParams);
  return CUDA_SUCCESS;
}
/// A real driver would run what is in the place of the code.
CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
  STEP("cuGraphLaunch", stream_text(stream));
  for (const CUkernel kernel : graph->kernels)
    if (!is_loaded(kernel)) return CUDA_ERROR_INVALID_HANDLE;
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph) { return step("cuGraphDestroy"); }
CUresult cuGraphExecDestroy(CUgraphExec) { return step("cuGraphExecDestroy"); }

}  // extern "C"
