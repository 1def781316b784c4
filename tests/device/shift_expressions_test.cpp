// tests/device/shift_expressions_test.cpp -- kl::shift within expressions: fused, nested, reduced, overlapping.
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/devices.h"
#include "tests/support/messages.h"
#include "tests/support/shifts.h"

namespace {

using messages::message_of;

using Numbers = std::vector<std::int64_t>;
using Values = std::vector<float>;
using shifts::Beyond;

class ShiftExpressions : public OnEachDevice {};

/// Small integers: every sum of them is exact in f32.
Values values_of(std::size_t count, int seed = 37) {
  Values values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>((i * static_cast<std::size_t>(seed)) % 61);
  return values;
}

Values moved(const Values& x, const Numbers& shape, const Numbers& by, Beyond beyond) {
  return shifts::shifted<float>(x, shape, by, beyond, 0.0f);
}

template <class F>
Values zipped(const Values& a, const Values& b, F f) {
  Values result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = f(a[i], b[i]);
  return result;
}
Values operator+(const Values& a, const Values& b) { return zipped(a, b, std::plus<>()); }
Values operator-(const Values& a, const Values& b) { return zipped(a, b, std::minus<>()); }
Values operator*(const Values& a, const Values& b) { return zipped(a, b, std::multiplies<>()); }

/// The four neighbours of each element.
Values cross(const Values& x, const Numbers& shape, Beyond beyond) {
  return moved(x, shape, {0, 1}, beyond) + moved(x, shape, {0, -1}, beyond) + moved(x, shape, {1, 0}, beyond) +
         moved(x, shape, {-1, 0}, beyond);
}
template <class X, class B>
auto cross(const X& x, const B& boundary) {
  return kl::shift(x, {0, 1}, boundary) + kl::shift(x, {0, -1}, boundary) + kl::shift(x, {1, 0}, boundary) +
         kl::shift(x, {-1, 0}, boundary);
}

constexpr int shapes[][2] = {{1, 1}, {2, 3}, {33, 70}, {70, 33}, {130, 512}, {5, 1000}};

TEST_P(ShiftExpressions, the_right_side_is_complete_before_the_first_write) {
  for (const auto& [rows, columns] : shapes) {
    const Numbers shape{rows, columns};
    Values expected = values_of(static_cast<std::size_t>(rows * columns));
    kl::Array<float> x = kl::from_host(expected, shape);
    for (int step = 0; step < 3; ++step) {
      x = cross(x, kl::wrap) - 3.0f * x;
      expected = cross(expected, shape, Beyond::wrap) - expected - expected - expected;
      ASSERT_EQ(x.to_host(), expected) << rows << " x " << columns << ", step " << step;
    }
  }
}

TEST_P(ShiftExpressions, a_part_of_an_array_from_its_neighbours) {
  const Numbers shape{40, 64};
  const Values values = values_of(40 * 64);
  kl::Array<float> x = kl::from_host(values, shape);
  x(kl::range(1, -1), kl::range(1, -1)) =
      kl::shift(x, {1, 0}, kl::clamp)(kl::range(1, -1), kl::range(1, -1)) + x(kl::range(2, kl::none), kl::range(0, -2));
  Values expected = values;
  for (std::size_t i = 1; i < 39; ++i)
    for (std::size_t j = 1; j < 63; ++j) expected[i * 64 + j] = values[(i - 1) * 64 + j] + values[(i + 1) * 64 + j - 1];
  EXPECT_EQ(x.to_host(), expected);
}

TEST_P(ShiftExpressions, of_expressions_of_several_arrays) {
  for (const auto& [rows, columns] : shapes) {
    const Numbers shape{rows, columns};
    const auto count = static_cast<std::size_t>(rows * columns);
    const Values a = values_of(count), b = values_of(count, 11);
    const kl::Array<float> x = kl::from_host(a, shape), y = kl::from_host(b, shape);
    for (const Beyond beyond : {Beyond::reflect, Beyond::constant}) {
      const kl::Array<float> got = beyond == Beyond::reflect ? kl::eval(kl::shift(x * y + x, {1, -2}, kl::reflect))
                                                             : kl::eval(kl::shift(x * y + x, {1, -2}, kl::zero));
      ASSERT_EQ(got.to_host(), moved(a * b + a, shape, {1, -2}, beyond));
    }
  }
}

TEST_P(ShiftExpressions, a_filled_border_does_not_pass_through_the_expression) {
  const kl::Array<float> x = kl::from_host(Values{1, 2, 3, 4});
  EXPECT_EQ(kl::eval(kl::shift(x + 10.0f, 1, kl::zero)).to_host(), (Values{0, 11, 12, 13}));
  EXPECT_EQ(kl::eval(kl::shift(x, 1, kl::zero) + 10.0f).to_host(), (Values{10, 11, 12, 13}));
  EXPECT_EQ(kl::eval(kl::shift(x, -2, kl::constant(0.5))).to_host(), (Values{3, 4, 0.5f, 0.5f}));
}

TEST_P(ShiftExpressions, of_broadcast_operands) {
  const Values row = values_of(70), column = values_of(33, 5);
  Values both;
  for (const float c : column)
    for (const float r : row) both.push_back(c * r + r);
  const kl::Array<float> r = kl::from_host(row), c = kl::from_host(column, {33, 1});
  EXPECT_EQ(kl::eval(kl::shift(c * r + r, {-4, 9}, kl::symmetric)).to_host(),
            moved(both, {33, 70}, {-4, 9}, Beyond::symmetric));
}

TEST_P(ShiftExpressions, of_coordinates) {
  const kl::Array<float> x({5, 6});
  const kl::Array<std::int64_t> i = kl::shift(kl::index(x, 0) * 10 + kl::index(x, 1), {1, -2}, kl::clamp);
  std::vector<std::int64_t> expected;
  for (std::int64_t row = 0; row < 5; ++row)
    for (std::int64_t column = 0; column < 6; ++column)
      expected.push_back(10 * (row > 0 ? row - 1 : 0) + (column + 2 < 6 ? column + 2 : 5));
  EXPECT_EQ(i.to_host(), expected);
}

TEST_P(ShiftExpressions, one_after_another_along_different_and_the_same_axes) {
  for (const auto& [rows, columns] : shapes) {
    const Numbers shape{rows, columns};
    const Values a = values_of(static_cast<std::size_t>(rows * columns));
    const kl::Array<float> x = kl::from_host(a, shape);
    const auto wide = x + kl::shift(x, {0, 1}, kl::reflect) + kl::shift(x, {0, -1}, kl::reflect);
    const Values wide_values = a + moved(a, shape, {0, 1}, Beyond::reflect) + moved(a, shape, {0, -1}, Beyond::reflect);
    ASSERT_EQ(kl::eval(wide + kl::shift(wide, {1, 0}, kl::clamp) + kl::shift(wide, {-1, 0}, kl::clamp)).to_host(),
              wide_values + moved(wide_values, shape, {1, 0}, Beyond::clamp) +
                  moved(wide_values, shape, {-1, 0}, Beyond::clamp));
    const auto laplacian = cross(x, kl::clamp) - 4.0f * x;
    Values expected = cross(a, shape, Beyond::clamp);
    for (std::size_t i = 0; i < a.size(); ++i) expected[i] -= 4 * a[i];
    ASSERT_EQ(kl::eval(cross(laplacian, kl::wrap)).to_host(), cross(expected, shape, Beyond::wrap));
    ASSERT_EQ(kl::eval(kl::shift(kl::shift(x, {1, 0}, kl::clamp), {-1, 0}, kl::clamp)).to_host(),
              moved(moved(a, shape, {1, 0}, Beyond::clamp), shape, {-1, 0}, Beyond::clamp));
  }
}

TEST_P(ShiftExpressions, costly_operands_are_computed_once_and_equal) {
  const Numbers shape{65, 130};
  const Values a = values_of(65 * 130);
  const kl::Array<float> x = kl::from_host(a, shape);
  const Values e = kl::eval(kl::exp(kl::sin(x) * kl::tanh(x))).to_host();
  const Values sum = kl::eval(cross(kl::exp(kl::sin(x) * kl::tanh(x)), kl::clamp)).to_host();
  const Values expected = cross(e, shape, Beyond::clamp);
  for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_FLOAT_EQ(sum[i], expected[i]) << i;
}

TEST_P(ShiftExpressions, reduced_and_of_reductions) {
  for (const auto& [rows, columns] : shapes) {
    const Numbers shape{rows, columns};
    const Values a = values_of(static_cast<std::size_t>(rows * columns));
    const kl::Array<float> x = kl::from_host(a, shape);
    const Values difference = a - moved(a, shape, {0, 1}, Beyond::clamp);
    float total = 0;
    Values by_row(static_cast<std::size_t>(rows));
    for (std::size_t i = 0; i < a.size(); ++i) {
      total += std::abs(difference[i]);
      by_row[i / static_cast<std::size_t>(columns)] += a[i];
    }
    ASSERT_EQ(kl::sum(kl::abs(x - kl::shift(x, {0, 1}, kl::clamp))).item(), total);
    ASSERT_EQ(kl::eval(kl::shift(kl::sum(x, 1), 1, kl::wrap)).to_host(), moved(by_row, {rows}, {1}, Beyond::wrap));
    Values expected = a;
    const Values turned = moved(by_row, {rows}, {-1}, Beyond::reflect);
    for (std::size_t i = 0; i < a.size(); ++i) expected[i] += turned[i / static_cast<std::size_t>(columns)];
    ASSERT_EQ(kl::eval(x + kl::shift(kl::sum(x, 1, kl::keepdims), {-1, 0}, kl::reflect)).to_host(), expected);
    Values running(a.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      running[i] = a[i] + (i % static_cast<std::size_t>(columns) ? running[i - 1] : 0);
    ASSERT_EQ(kl::eval(kl::shift(kl::cumsum(x, 1), {1, 2}, kl::wrap)).to_host(),
              moved(running, shape, {1, 2}, Beyond::wrap));
    ASSERT_EQ(kl::eval(kl::cumsum(kl::shift(x, {0, -1}, kl::wrap) - x, 1)).to_host().back(), 0.0f);
  }
}

TEST_P(ShiftExpressions, in_compiled_functions_with_run_time_constants) {
  const Numbers shape{33, 70};
  const Values a = values_of(33 * 70);
  const kl::Array<float> x = kl::from_host(a, shape);
  auto step = kl::jit([](auto v, auto border, auto rate) {
    auto neighbours = kl::shift(v, {0, 1}, kl::constant(border)) + kl::shift(v, {1, 0}, kl::wrap);
    return v + rate * neighbours;
  });
  for (const float border : {2.0f, 5.0f}) {
    const Values sum =
        shifts::shifted<float>(a, shape, {0, 1}, Beyond::constant, border) + moved(a, shape, {1, 0}, Beyond::wrap);
    EXPECT_EQ(kl::Array<float>(step(x, border, 2.0f)).to_host(), a + sum + sum);
  }
  for (std::int64_t by = -3; by < 4; ++by) {
    auto turn = kl::jit([by](auto v) { return kl::shift(v, {by, 2 * by}, kl::symmetric); });
    EXPECT_EQ(kl::Array<float>(turn(x)).to_host(), moved(a, shape, {by, 2 * by}, Beyond::symmetric));
  }
}

TEST_P(ShiftExpressions, several_results_of_one_array) {
  const Numbers shape{33, 70};
  const Values a = values_of(33 * 70);
  kl::Array<float> x = kl::from_host(a, shape), up, down;
  kl::eval(kl::tie(up, down), kl::shift(x, {-1, 0}, kl::zero), kl::shift(x, {1, 0}, kl::zero) + x);
  EXPECT_EQ(up.to_host(), moved(a, shape, {-1, 0}, Beyond::constant));
  EXPECT_EQ(down.to_host(), moved(a, shape, {1, 0}, Beyond::constant) + a);
  kl::eval(kl::tie(x, up), kl::shift(x, {0, 1}, kl::wrap), kl::shift(x, {0, 2}, kl::wrap));
  EXPECT_EQ(x.to_host(), moved(a, shape, {0, 1}, Beyond::wrap));
  EXPECT_EQ(up.to_host(), moved(a, shape, {0, 2}, Beyond::wrap));
}

TEST_P(ShiftExpressions, images_with_channels) {
  const Numbers shape{21, 34, 3};
  std::vector<std::uint8_t> image(21 * 34 * 3);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::uint8_t>(i * 97 % 256);
  const kl::Array<std::uint8_t> x = kl::from_host(image, shape);
  std::vector<int> expected(image.size());
  for (const Numbers& by : {Numbers{0, 1, 0}, Numbers{1, 0, 0}, Numbers{-1, -1, 0}}) {
    const auto part = shifts::shifted<std::uint8_t>(image, shape, by, Beyond::reflect, 0);
    for (std::size_t i = 0; i < image.size(); ++i) expected[i] += part[i];
  }
  const auto wide = kl::cast<int>(x);
  EXPECT_EQ(kl::eval(kl::shift(wide, {0, 1, 0}, kl::reflect) + kl::shift(wide, {1, 0, 0}, kl::reflect) +
                     kl::shift(wide, {-1, -1, 0}, kl::reflect))
                .to_host(),
            expected);
}

TEST_P(ShiftExpressions, another_number_of_displacements_than_axes_is_told) {
  const kl::Array<float> x({3, 4});
  EXPECT_NE(message_of<kl::ShapeError>([&] {
              (void)kl::eval(kl::shift(x, 1, kl::wrap));
            }).find("kl::shift by (1,) of an array of shape (3, 4) (shift_expressions_test.cpp:"),
            std::string::npos);
  auto f = kl::jit([](auto v) { return kl::shift(v, {1, 2, 3}, kl::wrap); });
  EXPECT_NE(message_of<kl::ShapeError>([&] { (void)f(x); }).find("kl::shift by (1, 2, 3) of an expression of rank 2"),
            std::string::npos);
}

TEST_P(ShiftExpressions, explain_names_what_is_read_beyond_the_borders) {
  const kl::Array<float> x({64, 64});
  const std::string text = kl::inspect(cross(x, kl::reflect)).explain();
  EXPECT_NE(text.find("1 kernel for"), std::string::npos) << text;
  EXPECT_NE(text.find("shifted by -1 along axis 1, reflected at the borders"), std::string::npos) << text;
}

/// Of the kernels for an H200, wherever the test runs; empty where nothing can compile them.
template <class E>
std::string explained(const E& e) {
  try {
    return kl::inspect(e, "sm_90").explain();
  } catch (const kl::DeviceError&) {
    return "";
  }
}

TEST_P(ShiftExpressions, places_of_one_array_are_read_once) {
  const kl::Array<float> x({256, 256});
  const auto at = [&](int i, int j) { return x(kl::range(1 + i, 255 + i), kl::range(1 + j, 255 + j)); };
  const std::string shifts = explained(cross(x, kl::clamp) - x);
  if (shifts.empty()) GTEST_SKIP() << "no NVRTC here";
  EXPECT_NE(shifts.find("operands read at neighbouring places"), std::string::npos) << shifts;
  EXPECT_NE(shifts.find("moves 524288 bytes; the least possible is 524288"), std::string::npos) << shifts;
  const std::string slices = explained(at(0, 1) + at(0, -1) + at(1, 0) + at(-1, 0));
  EXPECT_NE(slices.find("operands read at neighbouring places"), std::string::npos) << slices;
  const std::string far = explained(x(kl::range(0, 128)) + x(kl::range(128, 256)));
  EXPECT_EQ(far.find("operands read at neighbouring places"), std::string::npos) << far;
}

/// A plan that was made for slices side by side must not serve slices elsewhere.
TEST_P(ShiftExpressions, slices_at_other_distances_are_other_plans) {
  const Values a = values_of(40 * 96);
  const kl::Array<float> x = kl::from_host(a, {40, 96});
  for (const int down : {0, 1, 2, -3, 4, 5, 0, 1}) {
    for (const int right : {1, 2, -1, 0, 8, -9, 1}) {
      const kl::Array<float> y =
          x(kl::range(8, 32), kl::range(12, 84)) - x(kl::range(8 + down, 32 + down), kl::range(12 + right, 84 + right));
      Values expected;
      for (int i = 8; i < 32; ++i)
        for (int j = 12; j < 84; ++j)
          expected.push_back(a[static_cast<std::size_t>(i * 96 + j)] -
                             a[static_cast<std::size_t>((i + down) * 96 + j + right)]);
      ASSERT_EQ(y.to_host(), expected) << down << ", " << right;
    }
  }
}

/// Interiors and borders of the forms that share loads: wide enough for them, and not a whole number of tiles.
TEST_P(ShiftExpressions, large_planes_and_volumes) {
  for (const auto& [rows, columns] : {std::array{301, 517}, std::array{64, 1024}, std::array{5, 4099}}) {
    const Numbers shape{rows, columns};
    const Values a = values_of(static_cast<std::size_t>(rows * columns));
    const kl::Array<float> x = kl::from_host(a, shape);
    ASSERT_EQ(kl::eval(cross(x, kl::symmetric) + x).to_host(), cross(a, shape, Beyond::symmetric) + a);
    ASSERT_EQ(kl::eval(cross(x, kl::zero) + x).to_host(), cross(a, shape, Beyond::constant) + a);
    const auto part = [&](int i, int j) {
      return x(kl::range(1 + i, rows - 1 + i), kl::range(2 + j, columns - 1 + j));
    };
    Values expected;
    for (int i = 1; i < rows - 1; ++i)
      for (int j = 2; j < columns - 1; ++j) {
        const auto e = static_cast<std::size_t>(i * columns + j), row = static_cast<std::size_t>(columns);
        expected.push_back(a[e - 1] + a[e + 1] * a[e - row] + a[e + row] - a[e]);
      }
    kl::Array<float> y = kl::zeros<float>(shape);
    y(kl::range(1, -1), kl::range(2, -1)) = part(0, -1) + part(0, 1) * part(-1, 0) + part(1, 0) - part(0, 0);
    ASSERT_EQ(kl::Array<float>(y(kl::range(1, -1), kl::range(2, -1))).to_host(), expected);
    ASSERT_EQ(y(0, 5).item(), 0.0f);
    ASSERT_EQ(kl::eval(part(0, -1) + part(0, 1) * part(-1, 0) + part(1, 0) - part(0, 0)).to_host(), expected);
  }
  const Numbers shape{9, 33, 70};
  const Values a = values_of(9 * 33 * 70);
  const kl::Array<float> x = kl::from_host(a, shape);
  const auto sum = kl::shift(x, {1, 0, 0}, kl::wrap) + kl::shift(x, {-1, 0, 0}, kl::wrap) -
                   kl::shift(x, {0, 2, 0}, kl::wrap) + kl::shift(x, {0, 0, -1}, kl::wrap) * x;
  EXPECT_EQ(kl::eval(sum).to_host(),
            moved(a, shape, {1, 0, 0}, Beyond::wrap) + moved(a, shape, {-1, 0, 0}, Beyond::wrap) -
                moved(a, shape, {0, 2, 0}, Beyond::wrap) + moved(a, shape, {0, 0, -1}, Beyond::wrap) * a);
}

/// Rule: a scan along an axis of one element is the identity, whatever is below and above it.
TEST_P(ShiftExpressions, of_a_scan_of_one_element_over_taken_elements) {
  const kl::Array<std::int64_t> x = kl::from_host(std::vector<std::int64_t>{3, 1, 0, 2}).reshape({4, 1}).clone();
  const auto taken = kl::take(x + 0, x, 0);  // x[x]: 2, 1, 3, 0
  EXPECT_EQ(kl::eval(kl::shift(kl::cummin(taken, 1), {1, 0, 0}, kl::clamp)).to_host(),
            (std::vector<std::int64_t>{2, 2, 1, 3}));
}

KILN_ON_EACH_DEVICE(ShiftExpressions);

}  // namespace
