// benchmarks/elementwise.cpp -- bytes that must move / time for pointwise kernels, beside the device's copy in the same
// run.
#include <benchmark/benchmark.h>
#include <kiln/kiln.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "benchmarks/support/driver.h"

namespace kl = kiln;

namespace {

bool on_gpu() { return kl::Device::current().kind() == kl::DeviceKind::cuda; }

/// Elements of the vector cases and rows x columns of the matrix cases; a CPU gets sizes that still exceed its caches.
std::int64_t vector_size() { return on_gpu() ? std::int64_t{1} << 28 : std::int64_t{1} << 24; }
std::int64_t matrix_rows() { return on_gpu() ? 16384 : 2048; }
constexpr std::int64_t matrix_columns = 8192;

double copy_rate = 0;  // GB/s, set by the copy benchmarks, which run first

/// Runs `launch` several times per iteration and waits once, so that launches overlap as in a program. Reports GB/s and
/// the ratio to the copy.
template <class F>
void measure(benchmark::State& state, double bytes, F&& launch) {
  const int launches = on_gpu() ? 20 : 1;
  for (int i = 0; i < 3; ++i) launch();
  kl::synchronize();
  double best = 1e30;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; ++i) launch();
    kl::synchronize();
    const double t = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / launches;
    state.SetIterationTime(t);
    best = std::min(best, t);
  }
  const double rate = 1e-9 * bytes / best;
  state.counters["GB/s"] = rate;
  if (copy_rate > 0) state.counters["of_copy"] = rate / copy_rate;
}

void copy_limit(benchmark::State& state) {
  const std::int64_t n = vector_size();
  kl::Array<float> x = kl::ones<float>({n}), y({n});
  kl::synchronize();
  const double bytes = 8.0 * double(n);
  if (on_gpu()) {
    const auto& cuda = benchmarks::driver();
    kl::Stream stream(kl::Device::current());
    kl::StreamGuard guard(stream);
    measure(state, bytes, [&] {
      benchmarks::expect(
          cuda.copy_async(reinterpret_cast<unsigned long long>(y.data()),
                          reinterpret_cast<unsigned long long>(x.data()), 4 * std::size_t(n), stream.native_handle()),
          "cuMemcpyDtoDAsync");
    });
  } else {
    measure(state, bytes, [&] { std::memcpy(y.data(), x.data(), 4 * std::size_t(n)); });
  }
  copy_rate = std::max(copy_rate, double(state.counters["GB/s"]));
}

void saxpy_f32(benchmark::State& state) {
  const std::int64_t n = vector_size();
  kl::Array<float> x = kl::random::uniform<float>({n}, 1), y = kl::random::uniform<float>({n}, 2);
  measure(state, 12.0 * double(n), [&] { y = 0.5f * x + y; });
}

void swiglu_bf16(benchmark::State& state) {
  const std::int64_t rows = matrix_rows();
  kl::Array<kl::bfloat16> gate = kl::random::uniform<float>({rows, matrix_columns}, 1).astype<kl::bfloat16>();
  kl::Array<kl::bfloat16> up = kl::random::uniform<float>({rows, matrix_columns}, 2).astype<kl::bfloat16>();
  kl::Array<kl::bfloat16> out({rows, matrix_columns});
  measure(state, 6.0 * double(rows * matrix_columns), [&] { out = kl::silu(gate) * up; });
}

void gelu_bias_bf16(benchmark::State& state) {
  const std::int64_t rows = matrix_rows();
  kl::Array<kl::bfloat16> x = kl::random::uniform<float>({rows, matrix_columns}, 1).astype<kl::bfloat16>();
  kl::Array<kl::bfloat16> bias = kl::random::uniform<float>({matrix_columns}, 2).astype<kl::bfloat16>();
  kl::Array<kl::bfloat16> out({rows, matrix_columns});
  auto gelu = kl::jit([](auto value, auto offset) {
    auto u = value + offset;
    return 0.5f * u * (1.0f + kl::tanh(0.7978845608f * (u + 0.044715f * u * u * u)));
  });
  measure(state, 4.0 * double(rows * matrix_columns), [&] { gelu.into(out)(x, bias); });
}

/// The same function by its name, which lets kiln choose the arithmetic inside.
void gelu_tanh_bias_bf16(benchmark::State& state) {
  const std::int64_t rows = matrix_rows();
  kl::Array<kl::bfloat16> x = kl::random::uniform<float>({rows, matrix_columns}, 1).astype<kl::bfloat16>();
  kl::Array<kl::bfloat16> bias = kl::random::uniform<float>({matrix_columns}, 2).astype<kl::bfloat16>();
  kl::Array<kl::bfloat16> out({rows, matrix_columns});
  measure(state, 4.0 * double(rows * matrix_columns), [&] { out = kl::gelu_tanh(x + bias); });
}

/// The exact GELU, by erf.
void gelu_erf_bias_bf16(benchmark::State& state) {
  const std::int64_t rows = matrix_rows();
  kl::Array<kl::bfloat16> x = kl::random::uniform<float>({rows, matrix_columns}, 1).astype<kl::bfloat16>();
  kl::Array<kl::bfloat16> bias = kl::random::uniform<float>({matrix_columns}, 2).astype<kl::bfloat16>();
  kl::Array<kl::bfloat16> out({rows, matrix_columns});
  measure(state, 4.0 * double(rows * matrix_columns), [&] { out = kl::gelu(x + bias); });
}

void affine_relu_f16(benchmark::State& state) {
  const std::int64_t n = vector_size();
  kl::Array<kl::half> x = kl::random::uniform<float>({n}, 1).astype<kl::half>(), out({n});
  measure(state, 4.0 * double(n), [&] { out = kl::relu(1.5f * x + 0.25f); });
}

void add_transposed_f32(benchmark::State& state) {
  const std::int64_t edge = on_gpu() ? 16384 : 4096;
  kl::Array<float> a = kl::random::uniform<float>({edge, edge}, 1), b = kl::random::uniform<float>({edge, edge}, 2);
  kl::Array<float> out({edge, edge});
  measure(state, 12.0 * double(edge * edge), [&] { out = a + b.t(); });
}

#define KILN_BENCHMARK(f) BENCHMARK(f)->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(30)
KILN_BENCHMARK(copy_limit);
KILN_BENCHMARK(saxpy_f32);
KILN_BENCHMARK(swiglu_bf16);
KILN_BENCHMARK(gelu_bias_bf16);
KILN_BENCHMARK(gelu_tanh_bias_bf16);
KILN_BENCHMARK(gelu_erf_bias_bf16);
KILN_BENCHMARK(affine_relu_f16);
KILN_BENCHMARK(add_transposed_f32);
#undef KILN_BENCHMARK

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::printf("device: %s\n", kl::Device::current().name());
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
