// examples/04_inspect.cpp -- what became of a function: graph, generated source, registers; also for GPUs that are not
// here.
#include <kiln/kiln.h>

#include <cstdio>

namespace kl = kiln;

int main() {
  kl::Array<float> x = kl::ones<float>({1 << 20});
  auto gelu =
      kl::jit("gelu", [](auto v) { return 0.5f * v * (1.0f + kl::tanh(0.7978845608f * (v + 0.044715f * v * v * v))); });

  const auto here = gelu.inspect(x);
  std::printf("graph:\n%s\n%s\n", here.graph.c_str(), here.explain().c_str());
  if (here.kernels.size() != 1) {
    std::printf("expected one fused kernel, got %zu\n", here.kernels.size());
    return 1;
  }

  // NVRTC compiles for any architecture it knows; neither a GPU nor a driver is needed.
  try {
    const auto hopper = gelu.inspect_for("sm_90", x);
    const kl::KernelInfo& kernel = hopper.kernels[0];
    std::printf("%s\n%s for %s: %d registers, %d bytes spilled\n", kernel.source.c_str(), kernel.name.c_str(),
                kernel.arch.c_str(), kernel.registers, kernel.spills);
    if (!kernel.source.contains("__global__") || kernel.registers <= 0) return 1;
  } catch (const kl::DeviceError& error) {
    std::printf("skipped, no CUDA compiler here: %s\n", error.what());
  }
  return 0;
}
