// tests/unit/dsl/reductions_overlap_test.cpp -- results of reductions that overlap what they are computed from: as if
// the right side were complete before the first write (B03), and in place where that is certain.
#include <cmath>
#include <functional>

#include <gtest/gtest.h>
#include <kiln/kiln.h>

#include "tests/support/cpu_compiler.h"

namespace kiln {
namespace {

using Numbers = std::vector<double>;

constexpr int rows = 6, columns = 50;

class ReductionsOverlap : public testing::Test {
 protected:
  void SetUp() override {
    KILN_NEEDS_CPU_COMPILER();
    x = from_host(values(), {rows, columns});
    before = x.to_host();
  }
  static std::vector<double> values() {
    std::vector<double> result(rows * columns);
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = std::sin(static_cast<double>(i * i)) * 3;
    return result;
  }
  double old(int row, int column) const { return before[static_cast<std::size_t>(row * columns + column)]; }
  /// The softmax of row `row` of the old values, at `column`.
  double softmax_of(int row, int column) const {
    double total = 0;
    for (int c = 0; c < columns; ++c) total += std::exp(old(row, c));
    return std::exp(old(row, column)) / total;
  }
  double sum_of(int row) const {
    double total = 0;
    for (int c = 0; c < columns; ++c) total += old(row, c);
    return total;
  }
  void expect(const Array<double>& array, const std::function<double(int, int)>& expected) const {
    const auto got = array.to_host();
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c)
        ASSERT_NEAR(got[static_cast<std::size_t>(r * columns + c)], expected(r, c), 1e-12) << r << ", " << c;
  }

  const DeviceGuard guard{Device::cpu()};
  Array<double> x;
  std::vector<double> before;
};

const auto softmax = jit([](auto v) {
  auto e = exp(v - max(v, -1, keepdims));
  return e / sum(e, -1, keepdims);
});

/// A row is read completely before its elements are written.
TEST_F(ReductionsOverlap, ElementsAreReplacedWhereTheyAre) {
  const void* const memory = x.data();
  softmax.into(x)(x);
  EXPECT_EQ(x.data(), memory);
  expect(x, [&](int r, int c) { return softmax_of(r, c); });
  x = from_host(before, {rows, columns});
  const auto info = softmax.inspect(x);
  const Text text = info.explain();
  EXPECT_FALSE(text.contains("temporary")) << text.c_str();
}

TEST_F(ReductionsOverlap, ColumnsAreReplacedWhereTheyAre) {
  x = x / sum(abs(x), 0, keepdims);
  expect(x, [&](int r, int c) {
    double total = 0;
    for (int i = 0; i < rows; ++i) total += std::abs(old(i, c));
    return old(r, c) / total;
  });
}

TEST_F(ReductionsOverlap, TransposedShiftedAndReversedDestinationsGoThroughATemporary) {
  Array<double> square = x(all, range(0, rows)).clone();
  before = square.to_host();
  const auto at = [&](int r, int c) { return before[static_cast<std::size_t>(r * rows + c)]; };
  square.t() = square / sum(square, 1, keepdims);
  auto got = square.to_host();
  for (int r = 0; r < rows; ++r) {
    double total = 0;
    for (int c = 0; c < rows; ++c) total += at(r, c);
    for (int c = 0; c < rows; ++c)
      ASSERT_NEAR(got[static_cast<std::size_t>(c * rows + r)], at(r, c) / total, 1e-12) << r << ", " << c;
  }
  before = x.to_host();
  x(range(1, none), all) = x(range(0, -1), all) - mean(x(range(0, -1), all), 1, keepdims);
  expect(x, [&](int r, int c) { return r == 0 ? old(0, c) : old(r - 1, c) - sum_of(r - 1) / columns; });
  before = x.to_host();
  x.flip(1) = softmax(x);
  expect(x, [&](int r, int c) { return softmax_of(r, columns - 1 - c); });
}

/// What one thread stores per row may still be read by others.
TEST_F(ReductionsOverlap, OneValuePerRowNeverReplacesWhatTheKernelReads) {
  x(all, 0) = sum(x, 1);
  expect(x, [&](int r, int c) { return c == 0 ? sum_of(r) : old(r, c); });
  before = x.to_host();
  Array<double> running = from_host(Numbers{1, 2, 3, 4, 5, 6});
  running = 0.5 * running + sum(x, 1);
  const auto got = running.to_host();
  for (int r = 0; r < rows; ++r) EXPECT_NEAR(got[static_cast<std::size_t>(r)], 0.5 * (r + 1) + sum_of(r), 1e-12);
}

TEST_F(ReductionsOverlap, ARowThatScalesTheElementsIsReadBeforeItIsWritten) {
  // The first column is a factor of every row, and part of what is written.
  x = softmax(x) * x(all, range(0, 1));
  expect(x, [&](int r, int c) { return softmax_of(r, c) * old(r, 0); });
}

TEST_F(ReductionsOverlap, SeveralResultsReadTheOldValues) {
  Array<double> total({rows});
  eval(tie(x, total), x / sum(x, 1, keepdims), sum(x, 1));
  expect(x, [&](int r, int c) { return old(r, c) / sum_of(r); });
  const auto got = total.to_host();
  for (int r = 0; r < rows; ++r) EXPECT_NEAR(got[static_cast<std::size_t>(r)], sum_of(r), 1e-12);
}

/// The sum over everything needs a kernel of its own, which must read x before the first one has changed it.
TEST_F(ReductionsOverlap, LaterKernelsReadTheOldValues) {
  Array<double> everything, column({columns});
  x = from_host(before, {rows, columns});
  eval(tie(x, everything, column), x + 1.0, sum(x), sum(x, 0));
  expect(x, [&](int r, int c) { return old(r, c) + 1; });
  double total = 0;
  for (int r = 0; r < rows; ++r) total += sum_of(r);
  EXPECT_NEAR(everything.item(), total, 1e-10);
  const auto got = column.to_host();
  for (int c = 0; c < columns; ++c) {
    double expected = 0;
    for (int r = 0; r < rows; ++r) expected += old(r, c);
    EXPECT_NEAR(got[static_cast<std::size_t>(c)], expected, 1e-12);
  }
}

TEST_F(ReductionsOverlap, RunningSumsInPlaceAndReversed) {
  x = cumsum(x, 1);
  const auto running = [&](int r, int c) {
    double total = 0;
    for (int i = 0; i <= c; ++i) total += old(r, i);
    return total;
  };
  expect(x, running);
  x = from_host(before, {rows, columns});
  x.flip(1) = cumsum(x, 1);
  expect(x, [&](int r, int c) { return running(r, columns - 1 - c); });
  x = from_host(before, {rows, columns});
  x = cumsum(x.flip(1), 1);
  expect(x, [&](int r, int c) {
    double total = 0;
    for (int i = 0; i <= c; ++i) total += old(r, columns - 1 - i);
    return total;
  });
}

TEST_F(ReductionsOverlap, ReductionsOverNothingReadNothing) {
  const Array<double> empty({3, 0});
  const Array<double> scale = from_host(Numbers{1, 2, 3});
  EXPECT_EQ((eval(sum(empty, 1) + scale).to_host()), (Numbers{1, 2, 3}));
  EXPECT_EQ((eval(prod(empty, 1) * scale).to_host()), (Numbers{1, 2, 3}));
  EXPECT_EQ(eval(sum(empty)).item(), 0.0);
  EXPECT_TRUE(std::isnan(eval(mean(empty)).item()));
  const Array<double> none({0, 4});
  EXPECT_EQ(eval(sum(none, 1)).shape(), (Shape{0}));
  EXPECT_EQ(eval(sum(none, 0)).to_host(), Numbers(4));
  EXPECT_THROW(eval(max(empty, 1)), ShapeError);
}

}  // namespace
}  // namespace kiln
