// tests/unit/cpu/values.cpp -- operations and conversions of kernel bodies, bit by bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/unit/cpu/kernel_runner.h"

namespace kiln::test {
namespace {

const char* const no_f16c = "x86-64 sse3,ssse3,sse4.1,sse4.2,popcnt,avx,avx2,fma";
const char* const baseline = "x86-64 ";

std::vector<std::string> architectures() {
#if defined(__x86_64__)
  std::vector<std::string> list = {runtime::cpu_arch(), baseline};
  if (runtime::cpu_arch().find("avx2,fma") != std::string::npos) list.emplace_back(no_f16c);
  return list;
#else
  return {runtime::cpu_arch()};
#endif
}

/// result = cast(cast(x, f32), to) for f16 and bf16, in either direction.
Kernel conversion_kernel(DType from, DType to) {
  Kernel kernel = flat_kernel(1, from);
  kernel.body.outputs = {kernel.body.cast(kernel.body.load(0, from), to)};
  kernel.accesses.push_back(access(to, {AxisClass::contiguous}, true));
  return kernel;
}

TEST(CpuValues, EveryHalfAndBfloatWidensExactly) {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t k = 0; k < all.size(); ++k) all[k] = static_cast<std::uint16_t>(k);
  for (const std::string& arch : architectures()) {
    for (const DType type : {DType::f16, DType::bf16}) {
      const CompiledKernel kernel(conversion_kernel(type, DType::f32), arch);
      const auto wide = run_flat<std::uint16_t, float>(kernel, {all});
      for (std::size_t k = 0; k < all.size(); ++k) {
        const float expected = type == DType::f16 ? detail::f16_bits_to_f32(all[k]) : detail::bf16_bits_to_f32(all[k]);
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(wide[k])) << k;
        } else {
          ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[k]), std::bit_cast<std::uint32_t>(expected)) << arch << " " << k;
        }
      }
    }
  }
}

TEST(CpuValues, NarrowingRoundsToNearestEvenAndKeepsNan) {
  std::vector<float> values;
  for (std::uint32_t bits = 0; bits < 0xffff0000u; bits += 30011) values.push_back(std::bit_cast<float>(bits));
  for (std::uint32_t k = 0; k < 65536; ++k) {  // exact values, ties, and one beside each tie
    for (const int offset : {-1, 0, 1}) {
      const std::uint32_t half_tie =
          std::bit_cast<std::uint32_t>(detail::f16_bits_to_f32(static_cast<std::uint16_t>(k))) + 0x1000u;
      values.push_back(std::bit_cast<float>(half_tie + static_cast<std::uint32_t>(offset)));
      values.push_back(std::bit_cast<float>((k << 16) + 0x8000u + static_cast<std::uint32_t>(offset)));
    }
  }
  for (const std::string& arch : architectures()) {
    for (const DType type : {DType::f16, DType::bf16}) {
      const CompiledKernel kernel(conversion_kernel(DType::f32, type), arch);
      const auto narrow = run_flat<float, std::uint16_t>(kernel, {values});
      for (std::size_t k = 0; k < values.size(); ++k) {
        const std::uint16_t expected =
            type == DType::f16 ? detail::f32_to_f16_bits(values[k]) : detail::f32_to_bf16_bits(values[k]);
        ASSERT_EQ(narrow[k], expected) << arch << " " << name_of(type) << " of " << values[k];
      }
    }
  }
}

TEST(CpuValues, BooleansAreBytesThatCompareWithZero) {
  Kernel kernel = flat_kernel(1, DType::b1);
  kernel.body.outputs = {kernel.body.load(0, DType::b1)};
  kernel.accesses.push_back(access(DType::b1, {AxisClass::contiguous}, true));
  std::vector<unsigned char> bytes(300);
  for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<unsigned char>(k % 3 == 0 ? 0 : k);
  const auto truth = run_flat<unsigned char, unsigned char>(CompiledKernel(kernel), {bytes});
  for (std::size_t k = 0; k < bytes.size(); ++k) ASSERT_EQ(truth[k], bytes[k] ? 1 : 0);
}

TEST(CpuValues, ParametersComeFromTheArgumentBlock) {
  Kernel kernel = flat_kernel(1, DType::f64);
  kernel.parameters = {DType::f64};
  const NodeId operands[] = {kernel.body.load(0, DType::f64), kernel.body.parameter(0, DType::f64)};
  kernel.body.outputs = {kernel.body.operation(Op::sub, DType::f64, operands)};
  kernel.accesses.push_back(access(DType::f64, {AxisClass::contiguous}, true));
  std::vector<double> x(50, 1.25), y(50);
  CallArguments call;
  call.pointers = {x.data(), y.data()};
  call.extents = {50};
  const double scalar = 0.1;
  call.parameters = {std::vector<unsigned char>(8)};
  std::memcpy(call.parameters[0].data(), &scalar, 8);
  CompiledKernel(kernel).run(call);
  for (const double v : y) ASSERT_EQ(v, 1.25 - 0.1);
}

TEST(CpuValues, ComplexElementsAreSplitAndJoined) {
  // z -> (imag, real), contiguous: shuffles on both sides.
  Kernel kernel = flat_kernel(1, DType::c64);
  const NodeId z = kernel.body.load(0, DType::c64);
  codegen::Node part{.kind = codegen::NodeKind::imag_part, .type = DType::f32, .arity = 1, .operands = {z}};
  const NodeId imag = kernel.body.add(part);
  part.kind = codegen::NodeKind::real_part;
  const NodeId real = kernel.body.add(part);
  const codegen::Node joined{
      .kind = codegen::NodeKind::complex, .type = DType::c64, .arity = 2, .operands = {imag, real}};
  kernel.body.outputs = {kernel.body.add(joined)};
  kernel.accesses.push_back(access(DType::c64, {AxisClass::contiguous}, true));
  std::vector<std::pair<float, float>> x(77);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = {static_cast<float>(k), -1.5f * static_cast<float>(k)};
  const auto y = run_flat<std::pair<float, float>, std::pair<float, float>>(CompiledKernel(kernel), {x});
  for (std::size_t k = 0; k < x.size(); ++k) ASSERT_EQ(y[k], std::make_pair(x[k].second, x[k].first));
}

TEST(CpuValues, SeveralOutputsComeFromOnePass) {
  Kernel kernel = flat_kernel(2, DType::f32);
  const NodeId operands[] = {kernel.body.load(0, DType::f32), kernel.body.load(1, DType::f32)};
  kernel.body.outputs = {kernel.body.operation(Op::add, DType::f32, operands),
                         kernel.body.operation(Op::lt, DType::b1, operands)};
  kernel.accesses.push_back(access(DType::f32, {AxisClass::contiguous}, true));
  kernel.accesses.push_back(access(DType::b1, {AxisClass::contiguous}, true));
  std::vector<float> a(100), b(100, 50), sum(100);
  std::vector<unsigned char> less(100);
  for (std::size_t k = 0; k < a.size(); ++k) a[k] = static_cast<float>(k);
  CallArguments call;
  call.pointers = {a.data(), b.data(), sum.data(), less.data()};
  call.extents = {100};
  CompiledKernel(kernel).run(call);
  for (std::size_t k = 0; k < a.size(); ++k) {
    ASSERT_EQ(sum[k], a[k] + 50);
    ASSERT_EQ(less[k], k < 50);
  }
}

TEST(CpuValues, MinimumAndMaximumOrderZerosAndNan) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> specials = {0.0f, -0.0f, 1.0f, -1.0f, inf, -inf, nan};
  std::vector<float> a, b;
  for (const float x : specials) {
    for (const float y : specials) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  for (const Op op : {Op::minimum, Op::maximum, Op::fmin, Op::fmax}) {
    const bool smaller = op == Op::minimum || op == Op::fmin, propagate = op == Op::minimum || op == Op::maximum;
    const auto y = run_flat<float, float>(CompiledKernel(operation_kernel(op, 2, DType::f32, DType::f32)), {a, b});
    for (std::size_t k = 0; k < a.size(); ++k) {
      if (std::isnan(a[k]) || std::isnan(b[k])) {
        const float other = std::isnan(a[k]) ? b[k] : a[k];
        if (propagate || std::isnan(other)) {
          EXPECT_TRUE(std::isnan(y[k]));
        } else {
          EXPECT_EQ(y[k], other);
        }
        continue;
      }
      const bool first = a[k] == b[k] ? std::signbit(a[k]) == smaller : (a[k] < b[k]) == smaller;
      const float expected = first ? a[k] : b[k];
      EXPECT_EQ(std::bit_cast<std::uint32_t>(y[k]), std::bit_cast<std::uint32_t>(expected)) << a[k] << " " << b[k];
    }
  }
}

TEST(CpuValues, ContractionHappensOnlyWhenAllowed) {
  Kernel kernel = flat_kernel(3, DType::f64);
  const NodeId product[] = {kernel.body.load(0, DType::f64), kernel.body.load(1, DType::f64)};
  const NodeId sum[] = {kernel.body.operation(Op::mul, DType::f64, product), kernel.body.load(2, DType::f64)};
  kernel.body.outputs = {kernel.body.operation(Op::add, DType::f64, sum)};
  kernel.accesses.push_back(access(DType::f64, {AxisClass::contiguous}, true));
  const double a = 1 + 0x1p-30;
  const std::vector<double> x(20, a), c(20, -1.0);
  volatile double rounded = a * a;
  const auto separate = run_flat<double, double>(CompiledKernel(kernel, runtime::cpu_arch(), false), {x, x, c});
  for (const double v : separate) ASSERT_EQ(v, rounded - 1.0);
  if (runtime::cpu_arch().find("fma") == std::string::npos) GTEST_SKIP() << "this CPU has no FMA";
  const auto fused = run_flat<double, double>(CompiledKernel(kernel), {x, x, c});
  for (const double v : fused) ASSERT_EQ(v, std::fma(a, a, -1.0));
}

TEST(CpuValues, FmaAndRoundingAreExactWithoutTheInstructions) {
  for (const std::string& arch : architectures()) {
    std::mt19937 random(3);
    std::vector<float> a(500), b(500), c(500);
    for (std::size_t k = 0; k < a.size(); ++k) {
      a[k] = std::bit_cast<float>(0x3f000000u + (static_cast<std::uint32_t>(random()) >> 9));
      b[k] = std::bit_cast<float>(0x3f000000u + (static_cast<std::uint32_t>(random()) >> 9));
      c[k] = -a[k] * b[k];
    }
    const auto y =
        run_flat<float, float>(CompiledKernel(operation_kernel(Op::fma, 3, DType::f32, DType::f32), arch), {a, b, c});
    for (std::size_t k = 0; k < a.size(); ++k) ASSERT_EQ(y[k], std::fma(a[k], b[k], c[k])) << arch;
    const std::vector<double> x = {0.5, 1.5, -0.5, -2.5, -0.0, 1e300, 2.4999, -7.7, 0x1p52 + 1, 0x1p51 + 0.5};
    const auto rint =
        run_flat<double, double>(CompiledKernel(operation_kernel(Op::round, 1, DType::f64, DType::f64), arch), {x});
    const auto floors =
        run_flat<double, double>(CompiledKernel(operation_kernel(Op::floor, 1, DType::f64, DType::f64), arch), {x});
    for (std::size_t k = 0; k < x.size(); ++k) {
      ASSERT_EQ(std::bit_cast<std::uint64_t>(rint[k]), std::bit_cast<std::uint64_t>(std::nearbyint(x[k])))
          << arch << x[k];
      ASSERT_EQ(std::bit_cast<std::uint64_t>(floors[k]), std::bit_cast<std::uint64_t>(std::floor(x[k])))
          << arch << x[k];
    }
  }
}

template <class T>
void check_integers(DType type) {
  std::mt19937_64 random(9);
  std::vector<T> a(400), b(400);
  using L = std::numeric_limits<T>;
  const T edges[] = {L::min(), L::max(), T(0), T(1), static_cast<T>(-1)};
  for (std::size_t k = 0; k < a.size(); ++k) {
    a[k] = k < 25 ? edges[k / 5] : static_cast<T>(random());
    b[k] = k < 25 ? edges[k % 5] : static_cast<T>(random());
  }
  using U = std::make_unsigned_t<T>;
  const auto check = [&](Op op, auto expected) {
    const auto y = run_flat<T, T>(CompiledKernel(operation_kernel(op, 2, type, type)), {a, b});
    for (std::size_t k = 0; k < a.size(); ++k) ASSERT_EQ(y[k], static_cast<T>(expected(a[k], b[k]))) << name_of(type);
  };
  const auto wide = [](T v) { return static_cast<std::uint64_t>(v); };
  check(Op::add, [&](T x, T y) { return static_cast<U>(wide(x) + wide(y)); });
  check(Op::sub, [&](T x, T y) { return static_cast<U>(wide(x) - wide(y)); });
  check(Op::mul, [&](T x, T y) { return static_cast<U>(wide(x) * wide(y)); });
  check(Op::bit_xor, [&](T x, T y) { return x ^ y; });
  check(Op::minimum, [](T x, T y) { return x < y ? x : y; });
  check(Op::maximum, [](T x, T y) { return x > y ? x : y; });
  for (std::size_t k = 0; k < b.size(); ++k) {
    if (b[k] == T(0) || b[k] == static_cast<T>(-1)) b[k] = T(3);
  }
  check(Op::div, [](T x, T y) { return x / y; });
  check(Op::mod, [](T x, T y) { return x % y; });
  for (T& v : b) v = static_cast<T>(static_cast<U>(v) % (8 * sizeof(T)));
  check(Op::shl, [&](T x, T y) { return static_cast<U>(wide(x) << y); });
  check(Op::shr, [](T x, T y) { return x >> y; });
}

TEST(CpuValues, IntegersWrapDivideAndShiftInTheirOwnType) {
  check_integers<std::int8_t>(DType::i8);
  check_integers<std::uint8_t>(DType::u8);
  check_integers<std::int16_t>(DType::i16);
  check_integers<std::uint32_t>(DType::u32);
  check_integers<std::int64_t>(DType::i64);
  check_integers<std::uint64_t>(DType::u64);
}

}  // namespace
}  // namespace kiln::test
