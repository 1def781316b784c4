// tests/unit/launch/many_outputs_test.cpp -- a function of hundreds of results: from the disk cache, from a record and
// from a bundle, on both devices.
//
// Children are this program again: what is mapped and which devices there are a process decides once.
#include <kiln/kiln.h>
#include <kiln/kiln_c.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "runtime/cuda_interface.h"
#include "runtime/runtime.h"
#include "runtime/tool_bundle_build.h"
#include "tests/support/child_process.h"
#include "tests/support/cpu_compiler.h"
#include "tests/unit/launch/fake_gpu.h"
#include "tests/unit/temporary.h"

namespace kiln {
namespace {

constexpr int right = 0, failed = 3, wrong_values = 4, compiled = 5;
constexpr std::size_t results = 300;

/// Result number i is x + i.
kiln_kernel* make_function() {
  kiln_graph* graph = nullptr;
  kiln_kernel* kernel = nullptr;
  kiln_value x = 0;
  bool fine = kiln_graph_create(&graph) == KILN_OK && kiln_graph_input(graph, KILN_F32, 1, &x) == KILN_OK;
  for (std::size_t i = 0; i < results; ++i) {
    const float number = static_cast<float>(i);
    kiln_value pair[] = {x, 0}, sum = 0;
    fine = fine && kiln_graph_constant(graph, KILN_F32, &number, KILN_WEAK, &pair[1]) == KILN_OK &&
           kiln_graph_operation(graph, KILN_OP_add, pair, 2, &sum) == KILN_OK &&
           kiln_graph_output(graph, sum) == KILN_OK;
  }
  if (fine) kiln_kernel_create(graph, nullptr, &kernel);
  kiln_graph_destroy(graph);
  return kernel;
}

bool launch(kiln_kernel* kernel, Device device, std::vector<kiln_dl_managed_tensor_versioned*>& made) {
  const DeviceGuard guard(device);
  Array<float> x({5});
  x = 2.0f;
  std::int64_t extent = 5;
  kiln_dl_tensor tensor{};
  tensor.data = x.data();
  tensor.device = {device.kind() == DeviceKind::cpu ? KILN_DL_CPU : KILN_DL_CUDA, 0};
  tensor.ndim = 1;
  tensor.dtype = {KILN_DL_FLOAT, 32, 1};
  tensor.shape = &extent;
  const kiln_dl_tensor* const input = &tensor;
  const kiln_status status = kiln_launch_new(kernel, nullptr, &input, 1, nullptr, 0, made.data(), results);
  if (status != KILN_OK) std::fprintf(stderr, "%s\n", kiln_last_error());
  return status == KILN_OK && kiln_synchronize(tensor.device, nullptr) == KILN_OK;
}

/// The fake GPU computes nothing: reaching the launch is what counts there.
int run(Device device) {
  kiln_kernel* const kernel = make_function();
  std::vector<kiln_dl_managed_tensor_versioned*> made(results);
  if (!kernel || !launch(kernel, device, made)) return failed;
  bool same = true;
  for (std::size_t i = 0; i < results; ++i) {
    const kiln_dl_tensor& result = made[i]->dl_tensor;
    for (int at = 0; at < 5 && device.kind() == DeviceKind::cpu; ++at)
      same = same && static_cast<const float*>(result.data)[at] == 2.0f + static_cast<float>(i);
    made[i]->deleter(made[i]);
  }
  kiln_kernel_destroy(kernel);
  if (!same) return wrong_values;
  return std::getenv("TEST_WARM") && runtime::cache_counters().compiles != 0 ? compiled : right;
}

// Run by the test below, as programs of their own.
TEST(ManyOutputsChild, DISABLED_OnCpu) { _exit(run(Device::cpu())); }
TEST(ManyOutputsChild, DISABLED_OnGpu) {
  fake_driver().major = 9;
  fake_driver().minor = 0;
  _exit(run(Device::cuda(0)));
}

int run_child(const char* device, bool is_warm) {
  return test::run_alone(std::string("ManyOutputsChild.DISABLED_On") + device,
                         is_warm ? test::Environment{{"TEST_WARM", "1"}} : test::Environment{});
}

// Rule: what a kernel needs to be found again does not depend on how many results it has.
TEST(ManyOutputs, AreFoundInTheCacheAndInABundleOfTheirRecord) {
  KILN_NEEDS_CPU_COMPILER();
  if (runtime::cuda::report_compiler().version == 0) GTEST_SKIP() << "no NVRTC here";
  const test::TemporaryDirectory directory;
  const std::string record = directory.path + "/trace.kiln", bundle = directory.path + "/app.klb";
  const test::Variable cache("KILN_CACHE_DIR", (directory.path + "/cache").c_str());
  {
    const test::Variable recording("KILN_RECORD", record.c_str());
    ASSERT_EQ(run_child("Cpu", false), right);
  }
  ASSERT_EQ(run_child("Gpu", false), right);
  for (const char* const device : {"Cpu", "Gpu"}) EXPECT_EQ(run_child(device, true), right) << "cached, " << device;
  tool::BundleRequest request;
  request.records = {record};
  request.archs = {"sm_90"};
#ifdef __x86_64__
  request.cpus = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};
#endif
  request.output = bundle;
  tool::build_bundle(request);
  const test::Variable file("KILN_BUNDLE", bundle.c_str()), no_cache("KILN_CACHE", "off");
  EXPECT_EQ(run_child("Gpu", true), right) << "of the bundle";
#ifdef __x86_64__
  EXPECT_EQ(run_child("Cpu", true), right) << "of the bundle";
#endif
}

}  // namespace
}  // namespace kiln
