// benchmarks/call_cost.cpp -- host time of a cached call of y = a*x + y on 1024 elements, beside a raw cuLaunchKernel
// of the same compiled kernel in the same run. Calls are issued in bursts short enough for the launch queue, then
// waited for.
#include <benchmark/benchmark.h>
#include <kiln/kiln.h>

#include <chrono>
#include <cstdio>
#include <vector>

#include "benchmarks/support/driver.h"

namespace kl = kiln;

namespace {

constexpr int burst = 200;
constexpr std::int64_t elements = 1024;

/// Host time per call of a burst; waiting for the device is outside the measured time.
template <class F>
void measure(benchmark::State& state, F&& call) {
  for (int i = 0; i < burst; ++i) call();
  kl::synchronize();
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < burst; ++i) call();
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / burst);
    kl::synchronize();
  }
}

void inline_expression(benchmark::State& state) {
  kl::Array<float> x = kl::ones<float>({elements}), y = kl::ones<float>({elements});
  float a = 0.5f;
  measure(state, [&] { y = a * x + y; });
}

void jit_function(benchmark::State& state) {
  kl::Array<float> x = kl::ones<float>({elements}), y = kl::ones<float>({elements});
  auto saxpy = kl::jit([](auto a, auto u, auto v) { return a * u + v; });
  float a = 0.5f;
  measure(state, [&] { saxpy.into(y)(a, x, y); });
}

/// Launches the very kernel, with an argument block of zeros: its extents are 0, so it reads and writes nothing.
void raw_launch(benchmark::State& state) {
  const auto& cuda = benchmarks::driver();
  if (!cuda || kl::Device::current().kind() != kl::DeviceKind::cuda) {
    state.SkipWithError("no GPU here");
    return;
  }
  kl::Array<float> x = kl::ones<float>({elements}), y = kl::ones<float>({elements});
  auto saxpy = kl::jit([](auto a, auto u, auto v) { return a * u + v; });
  saxpy.into(y)(0.5f, x, y);
  const auto info = saxpy.inspect(0.5f, x, y);
  const auto& kernel = info.kernels[0];
  void *module = nullptr, *function = nullptr;
  benchmarks::expect(cuda.load_module(&module, kernel.ptx.c_str()), "cuModuleLoadData");
  benchmarks::expect(cuda.get_function(&function, module, kernel.name.c_str()), "cuModuleGetFunction");
  alignas(16) unsigned char block[4096] = {};
  void* parameters[] = {block};
  const unsigned* grid = kernel.launch.grid;
  const unsigned* threads = kernel.launch.block;
  kl::Stream stream(kl::Device::current());
  kl::StreamGuard guard(stream);
  measure(state, [&] {
    benchmarks::expect(cuda.launch(function, grid[0], grid[1], grid[2], threads[0], threads[1], threads[2],
                                   kernel.launch.shared_bytes, stream.native_handle(), parameters, nullptr),
                       "cuLaunchKernel");
  });
}

#define KILN_BENCHMARK(f) \
  BENCHMARK(f)->UseManualTime()->Unit(benchmark::kNanosecond)->Iterations(100)->Repetitions(5)->ReportAggregatesOnly()
KILN_BENCHMARK(raw_launch);
KILN_BENCHMARK(jit_function);
KILN_BENCHMARK(inline_expression);
#undef KILN_BENCHMARK

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::printf("device: %s\n", kl::Device::current().name());
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
