// tests/device/cases_kernels_test.cpp -- literals of every type keep their bits (case C01), and kernels that look alike
// are kept apart (case C07).
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/devices.h"

namespace {

class KernelCases : public OnEachDevice {};
KILN_ON_EACH_DEVICE(KernelCases);

using Floats = std::vector<float>;

/// Where a kernel writes the constant, and nowhere else.
template <class T>
void expect_same_bits(const std::vector<T>& constants) {
  kl::Array<float> x = kl::from_host(Floats{0.0f, 1.0f});
  for (std::size_t i = 0; i < constants.size(); ++i) {
    const T constant = constants[i], other = constants[(i + 1) % constants.size()];
    const std::vector<T> got = kl::Array<T>(kl::where(x > 0.5f, kl::lit(constant), kl::lit(other))).to_host();
    EXPECT_EQ(std::memcmp(&got[1], &constant, sizeof constant), 0) << i;
    EXPECT_EQ(std::memcmp(&got[0], &other, sizeof other), 0) << i;
    const kl::Array<T> filled = kl::full({3}, constant);  // as a parameter
    const T last = filled.to_host()[2];
    EXPECT_EQ(std::memcmp(&last, &constant, sizeof constant), 0) << i;
  }
}

template <class T>
std::vector<T> from_bits(const std::vector<std::uint16_t>& bits) {
  std::vector<T> values;
  for (const std::uint16_t b : bits) values.push_back(__builtin_bit_cast(T, b));
  return values;
}

TEST_P(KernelCases, literals_of_floating_types_keep_their_bits) {
  using F = std::numeric_limits<float>;
  using D = std::numeric_limits<double>;
  expect_same_bits<float>({0x1p-149f, F::min(), F::max(), F::lowest(), 0.1f, 1.0f / 3, -0.0f, 0.0f, 16777217.0f,
                           F::infinity(), -F::infinity(), __builtin_bit_cast(float, 0xffc01234u)});
  expect_same_bits<double>({0x1p-1074, D::min(), D::max(), D::lowest(), 0.1, 1.0 / 3, -0.0, 1e300, D::infinity(),
                            -D::infinity(), __builtin_bit_cast(double, 0x7ff8000000000123ull)});
  // Subnormal, least normal, 0.1, 1/3, largest, infinities, zeros.
  expect_same_bits<kl::half>(
      from_bits<kl::half>({0x0001, 0x03ff, 0x0400, 0x2e66, 0x3555, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x0000, 0x8000}));
  expect_same_bits<kl::bfloat16>(from_bits<kl::bfloat16>(
      {0x0001, 0x007f, 0x0080, 0x3dcd, 0x3eab, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x0000, 0x8000}));
  expect_same_bits<std::complex<float>>({{F::infinity(), -0.0f}, {-0.0f, 0x1p-149f}, {F::max(), -F::infinity()}});
  expect_same_bits<std::complex<double>>({{D::infinity(), -0.0}, {-0.0, 0x1p-1074}, {D::max(), 0.1}});
}

template <class T>
void expect_same_integers() {
  using L = std::numeric_limits<T>;
  expect_same_bits<T>({L::min(), L::max(), T(1), T(0), static_cast<T>(L::max() / 3), static_cast<T>(L::min() + 1)});
}

TEST_P(KernelCases, literals_of_integers_keep_their_bits) {
  expect_same_integers<std::int8_t>();
  expect_same_integers<std::int16_t>();
  expect_same_integers<std::int32_t>();
  expect_same_integers<std::int64_t>();
  expect_same_integers<std::uint8_t>();
  expect_same_integers<std::uint16_t>();
  expect_same_integers<std::uint32_t>();
  expect_same_integers<std::uint64_t>();
}

TEST_P(KernelCases, infinite_bounds_and_identities_are_values) {
  const float inf = std::numeric_limits<float>::infinity();
  kl::Array<float> x = kl::from_host(Floats{-inf, -3.0f, 0.5f, inf});
  EXPECT_EQ(kl::eval(kl::clip(x, kl::lit(-inf), kl::lit(inf))).to_host(), x.to_host());
  const kl::Array<float> low = kl::from_host(Floats{-inf, -inf}), high = kl::from_host(Floats{inf, inf});
  EXPECT_EQ(kl::max(low).item(), -inf) << "the identity of max is below every value";
  EXPECT_EQ(kl::min(high).item(), inf);
}

/// What is computed in f32 stays there: f64 runs at 1/64 of the speed on most GPUs. (The CPU's own polynomials are in
/// f64, where that is cheap.)
TEST_P(KernelCases, literals_make_no_double_arithmetic_of_f32) {
  kl::Array<float> x = kl::from_host(Floats{1.0f, 2.0f});
  const auto f = kl::jit([](auto v, auto k) {
    const auto e = v * 0.1 - kl::lit(1.0f / 3) + kl::abs(v) * k + kl::sqrt(v) / 3 + 1e-45;
    return kl::where(v > 0.5, e, kl::maximum(v, -0.0) + 16777217.0);
  });
  const auto inspection = f.inspect(x, 2.0);
  ASSERT_EQ(inspection.kernels.size(), 1u);
  const std::string source(inspection.kernels[0].source);
  const std::size_t body = source.find(on_gpu() ? "__global__" : "define ");
  ASSERT_NE(body, source.npos);
  EXPECT_EQ(source.find("double", body), source.npos) << source;
}

/// Each pair differs in one thing; both are evaluated twice, in both orders, so that neither can be taken for the
/// other.
template <class F, class G>
void expect_apart(const char* what, F f, const Floats& of_f, G g, const Floats& of_g) {
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(f(), of_f) << what << ", first";
    EXPECT_EQ(g(), of_g) << what << ", second";
    EXPECT_EQ(g(), of_g) << what << ", second again";
    EXPECT_EQ(f(), of_f) << what << ", first again";
  }
}

Floats floats(const kl::Array<double>& x) {
  const std::vector<double> values = x.to_host();
  return {values.begin(), values.end()};
}
Floats floats(const kl::Array<float>& x) { return x.to_host(); }

TEST_P(KernelCases, axes_types_and_broadcasts_are_told_apart) {
  const kl::Array<float> square = kl::from_host(Floats{1, 2, 3, 4}, {2, 2});
  const auto along = [&](int axis) { return [&, axis] { return floats(kl::eval(kl::sum(square, axis))); }; };
  expect_apart("the axis of a reduction", along(0), {4, 6}, along(1), {3, 7});
  const kl::Array<float> row = kl::from_host(Floats{10, 20}, {1, 2}), column = kl::from_host(Floats{10, 20}, {2, 1});
  const auto plus = [&](const kl::Array<float>& other) { return [&] { return floats(kl::eval(square + other)); }; };
  expect_apart("the broadcast axis", plus(row), {11, 22, 13, 24}, plus(column), {11, 12, 23, 24});
  const auto narrow = kl::jit([](auto v) { return (v + 16777216.0f) - 16777216.0f; });
  const kl::Array<float> one = kl::from_host(Floats{1, 3});
  const kl::Array<double> wide = kl::from_host(std::vector<double>{1, 3});
  expect_apart("the type", [&] { return floats(narrow(one)); }, {0, 4}, [&] { return floats(narrow(wide)); }, {1, 3});
  const auto turned = [&] { return floats(kl::eval(square.t() * 2.0f)); };
  expect_apart("the strides", turned, {2, 6, 4, 8}, [&] { return floats(kl::eval(square * 2.0f)); }, {2, 4, 6, 8});
}

TEST_P(KernelCases, constants_options_and_alignments_are_told_apart) {
  const kl::Array<float> x = kl::from_host(Floats{1, 2});
  const auto times = [&](float constant) {
    return [&, constant] { return floats(kl::jit([constant](auto v) { return v * kl::lit(constant); })(x)); };
  };
  expect_apart("a constant", times(2), {2, 4}, times(3), {3, 6});
  // 4097^2 = 16785409 rounds to 16785408, which leaves 1 of a fused sum and 0 of two roundings.
  const kl::Array<float> a = kl::from_host(Floats{4097}), b = kl::from_host(Floats{-16785408});
  const auto body = [](auto p, auto q) { return p * p + q; };
  const auto fused = kl::jit(body), separate = kl::jit(body, kl::Options{.contract = false});
  expect_apart("contraction", [&] { return floats(fused(a, b)); }, {1}, [&] { return floats(separate(a, b)); }, {0});
  Floats ramp(4099);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<float>(i);
  const kl::Array<float> long_one = kl::from_host(ramp);
  Floats whole, shifted;
  for (int i = 0; i < 4096; ++i)
    whole.push_back(static_cast<float>(i) + 1), shifted.push_back(static_cast<float>(i) + 2);
  expect_apart(
      "the alignment", [&] { return floats(kl::eval(long_one(kl::range(0, 4096)) + 1.0f)); }, whole,
      [&] { return floats(kl::eval(long_one(kl::range(1, 4097)) + 1.0f)); }, shifted);
}

/// Names are for people: a kernel is what it computes.
TEST_P(KernelCases, functions_of_one_name_are_told_apart) {
  const kl::Array<float> x = kl::from_host(Floats{1, 2});
  const auto one = kl::jit("scale", [](auto v) { return v * 2.0f; });
  const auto other = kl::jit("scale", [](auto v) { return v + 5; });
  expect_apart("traced functions", [&] { return floats(one(x)); }, {2, 4}, [&] { return floats(other(x)); }, {6, 7});
  const auto twice = kl::function<float(float)>("f", {"v"}, "return 2.0f * v;", [](float v) { return 2.0f * v; });
  const auto thrice = kl::function<float(float)>("f", {"v"}, "return 3.0f * v;", [](float v) { return 3.0f * v; });
  expect_apart(
      "functions in CUDA text", [&] { return floats(kl::eval(twice(x))); }, {2, 4},
      [&] { return floats(kl::eval(thrice(x))); }, {3, 6});
}

}  // namespace
