// examples/llm/quantize.cpp -- int8 and fp8 (e4m3) quantisation with a scale per row, and back.
//
//   llm_quantize [--size rows] [--save directory]        rows of 4096 elements
#include "examples/support/report.h"

namespace kl = kiln;
using bf16 = kl::bfloat16;
using examples::row_of;

constexpr std::int64_t width = 4096;
constexpr float largest_fp8 = 448;

// Codes and scales leave one kernel, which reads each row once. A row of zeros has scale 1.
const auto quantize_int8 = kl::jit("quantize_int8", [](auto x) {
  auto high = kl::max(kl::abs(kl::cast<float>(x)), -1, kl::keepdims);
  auto scale = kl::where(high > 0.0f, high * (1.0f / 127.0f), 1.0f);
  return std::tuple(kl::cast<std::int8_t>(kl::clip(kl::round(x / scale), -127.0f, 127.0f)), scale);
});
const auto dequantize_int8 =
    kl::jit("dequantize_int8", [](auto q, auto scale) { return kl::cast<bf16>(kl::cast<float>(q) * scale); });

// kiln has no 8-bit float, but a function of one's own may make one: 1 sign bit, 4 of exponent (bias 7), 3 of fraction;
// 0x7f is NaN, there is no infinity, 448 is the largest. Adding a power of two leaves what is to be rounded to even in
// the last bits of the sum.
constexpr const char* to_fp8_text = R"(
  unsigned bits = __float_as_uint(x), sign = bits >> 24 & 0x80u, high = bits & 0x7fffffffu;
  if (high > 0x7f800000u) return sign | 0x7fu;
  if (high >= 0x43e80000u) return sign | 0x7eu;                      // 464 and more: the largest
  if (high < 0x3c800000u)                                            // below 2^-6: steps of 2^-9
    return sign | (__float_as_uint(__uint_as_float(high) + 16384.f) - 0x46800000u);
  return sign | ((high - 0x3c000000u + 0x7ffffu + (high >> 20 & 1u)) >> 20);
)";
std::uint8_t to_fp8_host(float x) {
  const auto bits = __builtin_bit_cast(std::uint32_t, x), sign = bits >> 24 & 0x80u, high = bits & 0x7fffffffu;
  if (high > 0x7f800000u) return static_cast<std::uint8_t>(sign | 0x7fu);
  if (high >= 0x43e80000u) return static_cast<std::uint8_t>(sign | 0x7eu);
  if (high < 0x3c800000u) {
    const float sum = __builtin_bit_cast(float, high) + 16384.f;
    return static_cast<std::uint8_t>(sign | (__builtin_bit_cast(std::uint32_t, sum) - 0x46800000u));
  }
  return static_cast<std::uint8_t>(sign | ((high - 0x3c000000u + 0x7ffffu + (high >> 20 & 1u)) >> 20));
}

/// The other direction with kiln's own operations: 256 codes, so a table would do as well.
template <class Codes>
auto from_fp8(const Codes& codes) {
  auto exponent = kl::cast<float>((codes >> 3) & 15), fraction = kl::cast<float>(codes & 7);
  auto magnitude =
      kl::where(exponent == 0.0f, fraction * 0x1p-9f, (1.0f + 0.125f * fraction) * kl::exp2(exponent - 7.0f));
  auto value = kl::where((codes & 127) == 127, NAN, magnitude);
  return kl::where(codes >= 128, -value, value);
}

const auto dequantize_fp8 =
    kl::jit("dequantize_fp8", [](auto codes, auto scale) { return kl::cast<bf16>(from_fp8(codes) * scale); });

/// Worst distance of row elements from what they came from, in steps: half a step is a perfect rounding.
template <class StepOf>
double rounding(const kl::Array<bf16>& x, const kl::Array<bf16>& back, const StepOf& step_of, double largest_code) {
  double worst = 0;
  for (const std::int64_t r : examples::sample(x.shape()[0])) {
    const std::vector<double> before = row_of(x, r), after = row_of(back, r);
    double high = 0;
    for (const double v : before) high = std::fmax(high, std::fabs(v));
    const double scale = high > 0 ? high / largest_code : 1;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double room = std::fabs(after[i]) * 0x1p-8;  // what bf16 may take
      const double error = std::fmax(0, std::fabs(before[i] - after[i]) - room) / (scale * step_of(before[i] / scale));
      worst = std::fmax(worst, error);
    }
  }
  return worst;
}

double fp8_step(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);  // value = f 2^exponent, f in [0.5, 1)
  return std::ldexp(1.0, std::max(exponent - 1, -6) - 3);
}

int main(int argc, char** argv) {
  const examples::Options options = examples::parse(argc, argv, 256, 65536);
  const std::int64_t rows = options.size;
  const auto to_fp8 = kl::function<std::uint8_t(float)>("to_fp8", {"x"}, to_fp8_text, to_fp8_host);
  const auto quantize_fp8 = kl::jit("quantize_fp8", [to_fp8](auto x) {
    auto high = kl::max(kl::abs(kl::cast<float>(x)), -1, kl::keepdims);
    auto scale = kl::where(high > 0.0f, high * (1.0f / largest_fp8), 1.0f);
    return std::tuple(to_fp8(x / scale), scale);
  });

  kl::Array<bf16> x = kl::random::normal<bf16>({rows, width}, 1), back({rows, width}), back8({rows, width});
  x(0, kl::all) = 0.0f;
  kl::Array<std::int8_t> q({rows, width});
  kl::Array<std::uint8_t> codes({rows, width});
  kl::Array<float> scale({rows, 1}), scale8({rows, 1});
  const double bytes = 3.0 * static_cast<double>(rows * width);
  examples::Table table("quantisation of rows of 4096 bf16 (errors in steps of the code)");
  const auto one = [](double) { return 1.0; };
  const auto none = [] { return 0.0; };  // checked when it has come back
  table.row("bf16 to int8 and scale", bytes, 0, [&] { quantize_int8.into(q, scale)(x); }, none);
  table.row(
      "int8 to bf16", bytes, 0.501, [&] { dequantize_int8.into(back)(q, scale); },
      [&] { return rounding(x, back, one, 127); });
  table.row("bf16 to fp8 and scale", bytes, 0, [&] { quantize_fp8.into(codes, scale8)(x); }, none);
  table.row(
      "fp8 to bf16", bytes, 0.501, [&] { dequantize_fp8.into(back8)(codes, scale8); },
      [&] { return rounding(x, back8, fp8_step, double(largest_fp8)); });

  // Every code but the NaNs comes back as itself.
  const kl::Array<std::int32_t> all = kl::arange<std::int32_t>(0, 256);
  const kl::Array<bool> same = to_fp8(from_fp8(all)) == all || (all & 127) == 127;
  examples::save(options, "x", x), examples::save(options, "int8", q), examples::save(options, "scale", scale);
  examples::save(options, "fp8", codes), examples::save(options, "scale8", scale8);
  return kl::all(same).item() ? table.status() : 1;
}
