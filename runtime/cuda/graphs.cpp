// runtime/cuda/graphs.cpp -- CUDA graphs: stream capture, instances and their launches.

#include "runtime/cuda/backend.h"
#include "runtime/graph_backend.h"
#include "support/check.h"
#include "support/fork_safe.h"
#include "support/log.h"

namespace kiln::runtime::cuda {
namespace {

CUstream native(NativeStream stream) { return static_cast<CUstream>(stream); }

}  // namespace

class CudaGraphs final : public GraphBackend {
 public:
  explicit CudaGraphs(CudaBackend& backend) : backend_(backend) {}
  void begin(NativeStream stream) override;
  void* end(NativeStream stream) override;
  void abandon(NativeStream stream) noexcept override;
  void* last_node(NativeStream stream) override;
  void* instantiate(void* graph) override;
  bool update(void* instance, void* graph) override;
  void set_kernel(void* instance, void* node, const LoadedKernel& kernel, const LaunchShape& shape,
                  void** parameters) override;
  void launch(void* instance, NativeStream stream) override;
  void destroy_graph(void* graph) noexcept override;
  void destroy_instance(void* instance) noexcept override;
  void* allocate(std::size_t bytes) override;
  void* zeros(std::size_t bytes) override;
  NativeStream memory_stream() override;

 private:
  CudaBackend& backend_;
  ForkSafeMutex mutex_;
  NativeStream memory_stream_ = nullptr;  ///< made at the first use, never destroyed
};

void CudaGraphs::begin(NativeStream stream) {
  if (!stream) fail<DeviceError>("the default stream cannot be captured; give kl::capture a kl::Stream, or none");
  // Relaxed: the captured code may allocate, load modules and use other streams.
  backend_.check(
      in_context(backend_,
                 [&] { return driver().stream_begin_capture(native(stream), CU_STREAM_CAPTURE_MODE_RELAXED); }),
      "beginning a capture");
}

void* CudaGraphs::end(NativeStream stream) {
  CUgraph graph = nullptr;
  const CUresult result = in_context(backend_, [&] { return driver().stream_end_capture(native(stream), &graph); });
  if (result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED) {
    fail<DeviceError>(
        "a stream that took part in the capture was not joined: record an event on it and let the captured stream wait "
        "for it before the end");
  }
  if (result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) {
    fail<DeviceError>(
        "the capture was broken off: something in it waited for a captured stream, or used the default "
        "stream. Copy to the host and synchronise before or after the capture");
  }
  backend_.check(result, "ending a capture");
  return graph;
}

void CudaGraphs::abandon(NativeStream stream) noexcept {
  try {
    CUgraph graph = nullptr;
    in_context(backend_, [&] { return driver().stream_end_capture(native(stream), &graph); });
    if (graph) destroy_graph(graph);
  } catch (const std::exception& error) {
    KILN_LOG(1, "abandoning a capture: {}", error.what());
  }
}

void* CudaGraphs::last_node(NativeStream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUgraphNode* nodes = nullptr;
  std::size_t count = 0;
  backend_.check(
      in_context(
          backend_,
          [&] { return driver().stream_capture_info(native(stream), &status, nullptr, nullptr, &nodes, &count); }),
      "asking for the node of a captured kernel");
  KILN_INTERNAL_CHECK(count == 1, "a kernel was captured as {} nodes", count);
  return nodes[0];
}

void* CudaGraphs::instantiate(void* graph) {
  CUgraphExec instance = nullptr;
  backend_.check(
      in_context(backend_, [&] { return driver().graph_instantiate(&instance, static_cast<CUgraph>(graph), 0); }),
      "instantiating a graph");
  return instance;
}

bool CudaGraphs::update(void* instance, void* graph) {
  CUgraphExecUpdateResultInfo info{};
  const CUresult result = in_context(backend_, [&] {
    return driver().graph_update(static_cast<CUgraphExec>(instance), static_cast<CUgraph>(graph), &info);
  });
  if (result == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) return false;
  backend_.check(result, "updating a graph");
  return true;
}

void CudaGraphs::set_kernel(void* instance, void* node, const LoadedKernel& kernel, const LaunchShape& shape,
                            void** parameters) {
  CUDA_KERNEL_NODE_PARAMS settings{};
  settings.kern = reinterpret_cast<CUkernel>(kernel.function);
  settings.gridDimX = shape.grid[0], settings.gridDimY = shape.grid[1], settings.gridDimZ = shape.grid[2];
  settings.blockDimX = shape.block[0], settings.blockDimY = shape.block[1], settings.blockDimZ = shape.block[2];
  settings.sharedMemBytes = shape.shared_bytes;
  settings.kernelParams = parameters;
  backend_.check(in_context(backend_,
                            [&] {
                              return driver().graph_set_kernel(static_cast<CUgraphExec>(instance),
                                                               static_cast<CUgraphNode>(node), &settings);
                            }),
                 "changing the arguments of a captured kernel");
}

void CudaGraphs::launch(void* instance, NativeStream stream) {
  backend_.check(
      in_context(backend_, [&] { return driver().graph_launch(static_cast<CUgraphExec>(instance), native(stream)); }),
      "launching a graph");
}

void CudaGraphs::destroy_graph(void* graph) noexcept { driver().graph_destroy(static_cast<CUgraph>(graph)); }

void CudaGraphs::destroy_instance(void* instance) noexcept {
  driver().graph_destroy_instance(static_cast<CUgraphExec>(instance));
}

NativeStream CudaGraphs::memory_stream() {
  const std::lock_guard lock(mutex_);
  if (!memory_stream_) memory_stream_ = backend_.create_stream();
  return memory_stream_;
}

void* CudaGraphs::allocate(std::size_t bytes) {
  const NativeStream stream = memory_stream();
  void* const memory = backend_.allocate(bytes, stream);
  backend_.synchronize(stream);
  return memory;
}

void* CudaGraphs::zeros(std::size_t bytes) {
  const NativeStream stream = memory_stream();
  void* const memory = backend_.zeros(static_cast<std::uint32_t>(bytes / sizeof(std::uint32_t)), stream);
  backend_.synchronize(stream);
  return memory;
}

std::unique_ptr<GraphBackend> make_graphs(CudaBackend& backend) { return std::make_unique<CudaGraphs>(backend); }

}  // namespace kiln::runtime::cuda
