// benchmarks/elementwise.cpp -- bytes that must move / time for pointwise kernels, beside a copy of the device in the
// same run.
//
//   elementwise [PART OF A NAME ... | --serve]
#include <kiln/kiln.h>

#include <cstdint>
#include <string>
#include <tuple>

#include "benchmarks/support/measure.h"

namespace kl = kiln;

namespace {

using benchmarks::Limit;
using benchmarks::measure;
using benchmarks::random;
using benchmarks::scaled;
using benchmarks::wanted;
using kl::bfloat16;

double bytes_of(const auto&... arrays) {
  return (... + (static_cast<double>(arrays.size()) * sizeof(arrays.data()[0])));
}

void vectors() {
  const std::int64_t n = scaled(std::int64_t{1} << 28);
  if (wanted("saxpy_f32")) {
    kl::Array<float> x = random<float>({n}), y = random<float>({n}, 0, 8);
    measure("saxpy_f32", bytes_of(x, y, y), Limit::copy, [&] { y = 0.5f * x + y; });
  }
  if (wanted("affine_relu_f16")) {
    kl::Array<kl::half> x = random<kl::half>({n}), out({n});
    measure("affine_relu_f16", bytes_of(x, out), Limit::copy, [&] { out = kl::relu(1.5f * x + 0.25f); });
  }
}

void activations() {
  const std::int64_t rows = scaled(16384), columns = 8192;
  kl::Array<bfloat16> x = random<bfloat16>({rows, columns}, -0.5f), up = random<bfloat16>({rows, columns}, 0, 8);
  kl::Array<bfloat16> bias = random<bfloat16>({columns}), out({rows, columns});
  measure("swiglu_bf16", bytes_of(x, up, out), Limit::copy, [&] { out = kl::silu(x) * up; });
  // Written out, by name (which lets kiln choose the arithmetic inside), and the exact one.
  auto gelu = kl::jit([](auto value, auto offset) {
    auto u = value + offset;
    return 0.5f * u * (1.0f + kl::tanh(0.7978845608f * (u + 0.044715f * u * u * u)));
  });
  const double bytes = bytes_of(x, bias, out);
  measure("gelu_bias_bf16", bytes, Limit::copy, [&] { gelu.into(out)(x, bias); });
  measure("gelu_tanh_bias_bf16", bytes, Limit::copy, [&] { out = kl::gelu_tanh(x + bias); });
  measure("gelu_erf_bias_bf16", bytes, Limit::copy, [&] { out = kl::gelu(x + bias); });
}

void transposed() {
  if (!wanted("add_transposed_f32")) return;
  const std::int64_t edge = benchmarks::on_gpu() ? 16384 : 4096;
  kl::Array<float> a = random<float>({edge, edge}), b = random<float>({edge, edge}, 0, 8), out({edge, edge});
  measure("add_transposed_f32", bytes_of(a, b, out), Limit::copy, [&] { out = a + b.t(); });
}

/// Prices of European calls and puts: three inputs, two outputs.
template <class T>
void black_scholes(const char* name, std::int64_t n) {
  if (!wanted(name)) return;
  kl::Array<T> spot = kl::eval(random<T>({n}) * T(25) + T(5)), strike = kl::eval(random<T>({n}, 0, 8) * T(99) + T(1));
  kl::Array<T> years = kl::eval(random<T>({n}, 0, 9) * T(9.75) + T(0.25)), call({n}), put({n});
  auto price = kl::jit([](auto s, auto x, auto t, auto rate, auto volatility) {
    const auto normal = [](auto d) { return T(0.5) * kl::erfc(d * T(-0.7071067811865476)); };
    auto deviation = volatility * kl::sqrt(t);
    auto d1 = (kl::log(s / x) + (rate + T(0.5) * volatility * volatility) * t) / deviation;
    auto d2 = d1 - deviation;
    auto discounted = x * kl::exp(-rate * t);
    return std::tuple(s * normal(d1) - discounted * normal(d2), discounted * normal(-d2) - s * normal(-d1));
  });
  measure(name, bytes_of(spot, strike, years, call, put), Limit::copy,
          [&] { price.into(call, put)(spot, strike, years, T(0.02), T(0.3)); });
}

}  // namespace

int main(int argc, char** argv) {
  const bool good = benchmarks::run(argc, argv, [] {
    vectors();
    if (wanted("swiglu_bf16") || wanted("gelu_bias_bf16") || wanted("gelu_tanh_bias_bf16") ||
        wanted("gelu_erf_bias_bf16"))
      activations();
    transposed();
    black_scholes<float>("black_scholes_f32", scaled(std::int64_t{1} << 26));
    black_scholes<double>("black_scholes_f64", scaled(std::int64_t{1} << 26));
    return true;
  });
  return good ? 0 : 1;
}
