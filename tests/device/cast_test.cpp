// tests/device/cast_test.cpp -- conversions between all types, promotion, and weak scalars.
//
// Promotion: the NumPy 2 / Array API table written out below. Conversions: saturating float to int, wrapping int to
// int, round to nearest even into narrower floats.
#include "tests/support/check.h"
#include "tests/support/cpu_compiler.h"

namespace {

using kl::DType;
using reference::Int;
using reference::Real;

/// NumPy 2's table for b1 u1 u2 u4 u8 i1 i2 i4 i8 bf f2 f4 f8 c8 c16 (upper triangle), bf16 as ml_dtypes.
constexpr const char* table[15] = {"b1 u1 u2 u4 u8 i1 i2 i4 i8 bf f2 f4 f8 c8 cc",
                                   "u1 u2 u4 u8 i2 i2 i4 i8 bf f2 f4 f8 c8 cc",
                                   "u2 u4 u8 i4 i4 i4 i8 f4 f4 f4 f8 c8 cc",
                                   "u4 u8 i8 i8 i8 i8 f8 f8 f8 f8 cc cc",
                                   "u8 f8 f8 f8 f8 f8 f8 f8 f8 cc cc",
                                   "i1 i2 i4 i8 bf f2 f4 f8 c8 cc",
                                   "i2 i4 i8 f4 f4 f4 f8 c8 cc",
                                   "i4 i8 f8 f8 f8 f8 cc cc",
                                   "i8 f8 f8 f8 f8 cc cc",
                                   "bf f4 f4 f8 c8 cc",
                                   "f2 f4 f8 c8 cc",
                                   "f4 f8 c8 cc",
                                   "f8 cc cc",
                                   "c8 cc",
                                   "cc"};
constexpr const char* order = "b1 u1 u2 u4 u8 i1 i2 i4 i8 bf f2 f4 f8 c8 cc";

DType parse(const char* two) {
  const std::string name(two, 2);
  const std::pair<const char*, DType> names[] = {
      {"b1", DType::b1},  {"u1", DType::u8},  {"u2", DType::u16}, {"u4", DType::u32}, {"u8", DType::u64},
      {"i1", DType::i8},  {"i2", DType::i16}, {"i4", DType::i32}, {"i8", DType::i64}, {"bf", DType::bf16},
      {"f2", DType::f16}, {"f4", DType::f32}, {"f8", DType::f64}, {"c8", DType::c64}, {"cc", DType::c128}};
  for (const auto& [key, type] : names) {
    if (name == key) return type;
  }
  ADD_FAILURE() << "bad table entry " << name;
  return DType::b1;
}

TEST(Promotion, matches_the_numpy_2_table) {
  for (int i = 0; i < 15; ++i) {
    for (int j = i; j < 15; ++j) {
      const DType a = parse(order + 3 * i), b = parse(order + 3 * j), want = parse(table[i] + 3 * (j - i));
      EXPECT_EQ(kl::promote(a, b), want) << kl::name_of(a) << " with " << kl::name_of(b);
      EXPECT_EQ(kl::promote(b, a), want) << "promotion is symmetric: " << kl::name_of(b) << " with " << kl::name_of(a);
    }
  }
}

class Cast : public OnEachDevice {
 protected:
  template <class To, class From>
  static void one() {
    const std::vector<From> input = values::mixed<From>(200, 1, reference::is_float<From> ? 60 : 6);
    const std::vector<From> odd(input.begin(), input.end() - 1);  // lengths with and without a vector tail
    for (const auto& v : {input, odd}) {
      kl::Array<From> x = kl::from_host(v);
      const auto got = kl::eval(kl::cast<To>(x)).to_host();
      check::Reporter report(std::string("cast of ") + kl::name_of(kl::dtype_of<From>) + " to " +
                             kl::name_of(kl::dtype_of<To>));
      for (std::size_t i = 0; i < v.size(); ++i) compare<To, From>(report, v[i], got[i]);
    }
  }
  template <class To, class From>
  static void compare(check::Reporter& report, From in, To got) {
    const auto value = reference::widen(in);
    bool good = false;
    if constexpr (reference::is_float<To>) {
      const Real want = reference::round_to<To>(static_cast<Real>(value)), have = reference::widen(got);
      good = std::isnan(want) ? std::isnan(have) : want == have && std::signbit(want) == std::signbit(have);
    } else if constexpr (reference::is_float<From>) {
      good = got == reference::saturate<To>(value);
    } else {
      good = got == reference::wrap<To>(value);
    }
    if (!good) report.fail(check::text<From>(in) + " -> " + check::text<To>(got));
  }
  template <class From>
  static void from() {
    one<bool, From>();
    one<std::int8_t, From>();
    one<std::int16_t, From>();
    one<std::int32_t, From>();
    one<std::int64_t, From>();
    one<std::uint8_t, From>();
    one<std::uint16_t, From>();
    one<std::uint32_t, From>();
    one<std::uint64_t, From>();
    one<kl::half, From>();
    one<kl::bfloat16, From>();
    one<float, From>();
    one<double, From>();
  }
};

TEST_P(Cast, from_bool_and_signed_integers) {
  from<bool>();
  from<std::int8_t>();
  from<std::int16_t>();
  from<std::int32_t>();
  from<std::int64_t>();
}
TEST_P(Cast, from_unsigned_integers) {
  from<std::uint8_t>();
  from<std::uint16_t>();
  from<std::uint32_t>();
  from<std::uint64_t>();
}
TEST_P(Cast, from_floats_saturates_and_nan_is_zero) {  // case A18
  from<kl::half>();
  from<kl::bfloat16>();
  from<float>();
  from<double>();
}

TEST_P(Cast, named_conversions) {  // case A18, values from the report
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (const std::size_t length : {8u, 9u}) {
    std::vector<float> v{nan, inf, -inf, 1e20f, -1e20f, -1.5f, 255.9f, 256.0f, 1.0f};
    v.resize(length);
    kl::Array<float> x = kl::from_host(v);
    const std::int32_t high = std::numeric_limits<std::int32_t>::max(), low = std::numeric_limits<std::int32_t>::min();
    std::vector<std::int32_t> want{0, high, low, high, low, -1, 255, 256, 1};
    want.resize(length);
    EXPECT_EQ(kl::eval(kl::cast<std::int32_t>(x)).to_host(), want);
    std::vector<std::uint8_t> bytes{0, 255, 0, 255, 0, 0, 255, 255, 1};
    bytes.resize(length);
    EXPECT_EQ(kl::eval(kl::cast<std::uint8_t>(x)).to_host(), bytes);
    EXPECT_TRUE(kl::eval(kl::cast<bool>(x)).to_host()[0]) << "bool(NaN) is true";
  }
}

TEST_P(Cast, explicit_narrowing_is_kept) {  // case A24 (2): 1 + 2^-8 and 1 + 3*2^-8 tie to even in bf16
  kl::Array<float> x = kl::from_host(std::vector<float>{1 + 0x1p-8f, 1 + 3 * 0x1p-8f});
  EXPECT_EQ(kl::eval(kl::cast<float>(kl::cast<kl::bfloat16>(x))).to_host(), (std::vector<float>{1.0f, 1.015625f}));
}

TEST_P(Cast, double_to_half_rounds_once) {
  // 1 + 2^-11 + 2^-40 lies just above a tie of f16; through f32 it would fall on the tie and round to 1.
  kl::Array<double> x = kl::from_host(std::vector<double>{1 + 0x1p-11 + 0x1p-40});
  EXPECT_EQ(kl::eval(kl::cast<kl::half>(x)).to_host()[0].bits, kl::half(1 + 0x1p-10f).bits);
}

template <class A, class B>
using SumType = typename decltype(kl::eval(std::declval<kl::Array<A>&>() + std::declval<B>()).to_host())::value_type;

TEST(WeakScalars, adopt_the_kind_rules_of_numpy_2) {
  static_assert(std::is_same_v<SumType<float, double>, float>);
  static_assert(std::is_same_v<SumType<float, int>, float>);
  static_assert(std::is_same_v<SumType<kl::half, double>, kl::half>);
  static_assert(std::is_same_v<SumType<kl::bfloat16, float>, kl::bfloat16>);
  static_assert(std::is_same_v<SumType<std::int32_t, double>, double>);
  static_assert(std::is_same_v<SumType<std::int8_t, int>, std::int8_t>);
  static_assert(std::is_same_v<SumType<std::int8_t, long>, std::int8_t>);
  static_assert(std::is_same_v<SumType<bool, int>, std::int64_t>);
  static_assert(std::is_same_v<SumType<std::uint8_t, bool>, std::uint8_t>);
  static_assert(std::is_same_v<SumType<double, float>, double>);
  static_assert(std::is_same_v<SumType<float, std::complex<double>>, std::complex<float>>);
  static_assert(std::is_same_v<SumType<std::int32_t, std::complex<float>>, std::complex<double>>);
  static_assert(std::is_same_v<SumType<float, decltype(kl::scalar<double>(1.0))>, double>);  // strong
  SUCCEED();
}

TEST(WeakScalars, an_integer_that_does_not_fit_throws) {
  KILN_NEEDS_CPU_COMPILER();
  kl::DeviceGuard guard(kl::Device::cpu());
  kl::Array<std::int8_t> x = kl::from_host(std::vector<std::int8_t>{1, 2});
  EXPECT_THROW(kl::eval(x + 300), kl::TypeError);
  EXPECT_THROW(kl::eval(x * -129), kl::TypeError);
  kl::Array<std::uint8_t> u = kl::from_host(std::vector<std::uint8_t>{1, 2});
  EXPECT_THROW(kl::eval(u + -1), kl::TypeError);
  EXPECT_EQ(kl::eval(x + 127).to_host()[0], std::int8_t(-128)) << "the sum still wraps";
}

TEST(WeakScalars, a_jit_argument_that_does_not_fit_throws) {
  KILN_NEEDS_CPU_COMPILER();
  kl::DeviceGuard guard(kl::Device::cpu());
  auto add = kl::jit([](auto x, auto s) { return x + s; });
  kl::Array<std::int8_t> x = kl::from_host(std::vector<std::int8_t>{1, 2});
  EXPECT_EQ(add(x, 5).to_host(), (std::vector<std::int8_t>{6, 7}));
  EXPECT_THROW(add(x, 300), kl::TypeError);
  EXPECT_EQ(add(x, 6).to_host(), (std::vector<std::int8_t>{7, 8})) << "usable after the error";
}

KILN_ON_EACH_DEVICE(Cast);

}  // namespace
