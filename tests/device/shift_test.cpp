// tests/device/shift_test.cpp -- kl::shift: result[i] = x[i - d], and what lies beyond the borders, by definition.
#include <complex>
#include <cstdint>
#include <vector>

#include "tests/support/devices.h"
#include "tests/support/shifts.h"

namespace {

using Numbers = std::vector<std::int64_t>;
using shifts::Beyond;

class Shift : public OnEachDevice {};

constexpr int constant = 7;

template <class X>
auto displaced(const X& x, const Numbers& by, Beyond beyond) {
  switch (beyond) {
    case Beyond::clamp:
      return kl::shift(x, by, kl::clamp);
    case Beyond::wrap:
      return kl::shift(x, by, kl::wrap);
    case Beyond::reflect:
      return kl::shift(x, by, kl::reflect);
    case Beyond::symmetric:
      return kl::shift(x, by, kl::symmetric);
    case Beyond::constant:
      break;
  }
  if constexpr (std::is_same_v<typename X::value_type, bool>) {
    return kl::shift(x, by, kl::constant(true));
  } else {
    return kl::shift(x, by, kl::constant(constant));
  }
}

std::size_t count_of(const Numbers& shape) {
  std::size_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  return count;
}

/// Distinct small values, exact in every type with a range of 100.
template <class T>
std::vector<T> values_of(const Numbers& shape) {
  std::vector<T> values(count_of(shape));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(static_cast<float>(i * 37 % 101));
  return values;
}

std::string text(const Numbers& numbers) {
  std::string result;
  for (const std::int64_t number : numbers) result += " " + std::to_string(number);
  return result;
}

template <class T>
void every_boundary(const Numbers& shape, const Numbers& by) {
  const std::vector<T> values = values_of<T>(shape);
  const kl::Array<T> x = kl::from_host(values, shape);
  for (const Beyond beyond : shifts::every_boundary) {
    const kl::Array<T> y = displaced(x, by, beyond);
    ASSERT_EQ(y.to_host(), shifts::shifted<T>(values, shape, by, beyond, static_cast<T>(static_cast<float>(constant))))
        << kl::name_of(kl::dtype_of<T>) << " shape" << text(shape) << " by" << text(by) << " boundary "
        << static_cast<int>(beyond);
  }
}

TEST_P(Shift, of_a_vector_by_any_distance) {
  for (const std::int64_t n : {1, 2, 3, 7, 64, 1001})
    for (const std::int64_t by : {0, 1, -1, 2, -3, 7, -8, 15, 64, -200, 5000}) every_boundary<float>({n}, {by});
}

TEST_P(Shift, of_matrices_along_both_axes) {
  for (const Numbers& shape : {Numbers{1, 1}, Numbers{3, 5}, Numbers{17, 40}, Numbers{64, 129}, Numbers{200, 3}})
    for (const Numbers& by :
         {Numbers{0, 1}, Numbers{1, 0}, Numbers{-1, 1}, Numbers{2, -3}, Numbers{-70, 0}, Numbers{5, 300}})
      every_boundary<float>(shape, by);
}

TEST_P(Shift, of_every_rank) {
  every_boundary<float>({4, 5, 6}, {1, -1, 2});
  every_boundary<float>({4, 5, 70}, {0, 3, -2});
  every_boundary<float>({2, 3, 4, 5}, {0, 1, 0, -1});
  every_boundary<float>({2, 3, 2, 3, 4}, {1, -1, 1, 0, 2});
  every_boundary<float>({2, 1, 2, 2, 1, 2, 2, 3}, {1, 1, 0, -1, 2, 0, 1, -2});
}

TEST_P(Shift, of_every_type) {
  const Numbers shape{9, 37}, by{-2, 3};
  every_boundary<bool>(shape, by);
  every_boundary<std::int8_t>(shape, by);
  every_boundary<std::int16_t>(shape, by);
  every_boundary<std::int32_t>(shape, by);
  every_boundary<std::int64_t>(shape, by);
  every_boundary<std::uint8_t>(shape, by);
  every_boundary<std::uint16_t>(shape, by);
  every_boundary<std::uint32_t>(shape, by);
  every_boundary<std::uint64_t>(shape, by);
  every_boundary<double>(shape, by);
  every_boundary<std::complex<float>>(shape, by);
  every_boundary<std::complex<double>>(shape, by);
}

template <class H>
void half_precision() {
  const Numbers shape{9, 37}, by{3, -1};
  const std::vector<float> values = values_of<float>(shape);
  const kl::Array<H> x = kl::cast<H>(kl::from_host(values, shape));
  for (const Beyond beyond : shifts::every_boundary) {
    const kl::Array<float> y = kl::cast<float>(displaced(x, by, beyond));
    ASSERT_EQ(y.to_host(), shifts::shifted<float>(values, shape, by, beyond, constant)) << static_cast<int>(beyond);
  }
}

TEST_P(Shift, of_half_precision) {
  half_precision<kl::half>();
  half_precision<kl::bfloat16>();
}

TEST_P(Shift, by_distances_at_the_ends_of_their_type) {
  every_boundary<float>({10}, {INT64_MAX});
  every_boundary<float>({10}, {INT64_MIN + 10});  // the reference subtracts
}

TEST_P(Shift, zero_is_the_constant_of_every_type) {
  const Numbers shape{5, 6}, by{1, -2};
  const std::vector<int> values = values_of<int>(shape);
  EXPECT_EQ(kl::eval(kl::shift(kl::from_host(values, shape), {1, -2}, kl::zero)).to_host(),
            shifts::shifted<int>(values, shape, by, Beyond::constant, 0));
  const std::vector<std::uint8_t> bytes = values_of<std::uint8_t>(shape);
  EXPECT_EQ(kl::eval(kl::shift(kl::from_host(bytes, shape), {1, -2}, kl::zero)).to_host(),
            shifts::shifted<std::uint8_t>(bytes, shape, by, Beyond::constant, 0));
  EXPECT_EQ(kl::eval(kl::shift(kl::from_host(values, shape) == 3, {1, -2}, kl::zero)).to_host().at(0), false);
}

TEST_P(Shift, of_nothing_is_nothing) {
  const kl::Array<float> x({0, 5});
  EXPECT_EQ(kl::eval(kl::shift(x, {1, 1}, kl::wrap)).shape(), (kl::Shape{0, 5}));
  EXPECT_EQ(kl::sum(kl::shift(x, {3, 2}, kl::reflect)).item(), 0.0f);
}

TEST_P(Shift, of_views) {
  const Numbers shape{12, 20};
  const std::vector<float> values = values_of<float>(shape);
  const kl::Array<float> x = kl::from_host(values, shape);
  std::vector<float> turned(240), backwards(240), sparse(60);
  for (std::size_t i = 0; i < 12; ++i)
    for (std::size_t j = 0; j < 20; ++j)
      turned[j * 12 + i] = values[i * 20 + j], backwards[i * 20 + 19 - j] = values[i * 20 + j];
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 10; ++j) sparse[i * 10 + j] = values[(2 * i + 1) * 20 + 19 - 2 * j];
  for (const Beyond beyond : shifts::every_boundary) {
    EXPECT_EQ(kl::eval(displaced(x.t(), {2, -1}, beyond)).to_host(),
              shifts::shifted<float>(turned, {20, 12}, {2, -1}, beyond, constant));
    EXPECT_EQ(kl::eval(displaced(x.flip(1), {2, -1}, beyond)).to_host(),
              shifts::shifted<float>(backwards, shape, {2, -1}, beyond, constant));
    EXPECT_EQ(
        kl::eval(displaced(x(kl::range(1, kl::none, 2), kl::range(kl::none, kl::none, -2)), {-2, 3}, beyond)).to_host(),
        shifts::shifted<float>({sparse.begin(), sparse.end()}, {6, 10}, {-2, 3}, beyond, constant));
    const std::vector<float> row(values.begin(), values.begin() + 20);
    std::vector<float> rows;
    for (int i = 0; i < 5; ++i) rows.insert(rows.end(), row.begin(), row.end());
    EXPECT_EQ(kl::eval(displaced(x(0).broadcast_to({5, 20}), {1, 4}, beyond)).to_host(),
              shifts::shifted<float>(rows, {5, 20}, {1, 4}, beyond, constant));
  }
}

TEST_P(Shift, seen_through_views) {
  const Numbers shape{12, 20};
  const std::vector<float> values = values_of<float>(shape);
  const kl::Array<float> x = kl::from_host(values, shape);
  for (const Beyond beyond : shifts::every_boundary) {
    const std::vector<float> whole = shifts::shifted<float>(values, shape, {-2, 3}, beyond, constant);
    const auto s = displaced(x, {-2, 3}, beyond);
    std::vector<float> turned(240), sparse(60);
    for (std::size_t i = 0; i < 12; ++i)
      for (std::size_t j = 0; j < 20; ++j) turned[j * 12 + i] = whole[i * 20 + j];
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t j = 0; j < 10; ++j) sparse[i * 10 + j] = whole[(2 * i + 1) * 20 + 19 - 2 * j];
    EXPECT_EQ(kl::eval(s.t()).to_host(), turned);
    EXPECT_EQ(kl::eval(s(kl::range(1, kl::none, 2), kl::range(kl::none, kl::none, -2))).to_host(), sparse);
    EXPECT_EQ(kl::eval(s.reshape({4, 60})).to_host(), whole);
    EXPECT_EQ(kl::eval(s.reshape({240})).to_host(), whole);
    EXPECT_EQ(kl::eval(s(11, kl::all)).to_host(), std::vector<float>(whole.begin() + 220, whole.end()));
    EXPECT_EQ(kl::eval(s(kl::all, 0)).to_host().at(11), whole[220]);
    EXPECT_EQ(kl::eval(s.flip() + 1.0f).to_host().at(0), whole[239] + 1);
  }
}

KILN_ON_EACH_DEVICE(Shift);

}  // namespace
