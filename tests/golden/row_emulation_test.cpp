// tests/golden/row_emulation_test.cpp -- every form of row reduction, compiled for the CPU, against a reference in
// double precision: any length, misaligned, strided, several axes, blocks in any order.
#include <gtest/gtest.h>

#include "tests/golden/long_rows.h"
#include "tests/golden/reduction_run.h"

namespace kiln::emulation {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wshadow"
#include "row_cases.inc"
#pragma GCC diagnostic pop
}  // namespace kiln::emulation

namespace kiln::golden {
namespace {

const emulation::Emitted& emitted(const std::string& name) {
  for (const emulation::Emitted& kernel : emulation::emitted) {
    if (name == kernel.name) return kernel;
  }
  ADD_FAILURE() << name << " was not emitted";
  return emulation::emitted[0];
}

double noise(std::size_t i) {
  std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
  x ^= x >> 29, x *= 0xbf58476d1ce4e5b9u, x ^= x >> 32;
  return static_cast<double>(x % 4096) / 512 - 4;
}

/// True where the schedule was made for rows of this class.
bool admits(const ReductionCase& test, const std::vector<std::int64_t>& extents, std::int64_t length) {
  const codegen::Schedule& s = test.schedule;
  const std::int64_t tile = std::int64_t{s.lanes} * s.items * s.vector;
  if (s.resident && (length + (s.shifted ? s.vector - 1 : 0) > tile || (s.whole_rows && length != tile))) return false;
  if (s.whole_rows && length % tile != 0) return false;
  return !s.whole_vectors || extents.back() % s.vector == 0;
}

std::vector<std::vector<std::int64_t>> shapes(const codegen::Kernel& kernel) {
  const int kept = kernel.rank - kernel.reduced;
  std::vector<std::vector<std::int64_t>> rows = {{}};
  if (kept == 1) rows = {{3}, {67}};
  if (kept == 2) rows = {{3, 5}};
  if (kept == 3) rows = {{2, 1, 3}, {3, 5, 7}};
  std::vector<std::vector<std::int64_t>> columns;
  for (const std::int64_t n : {0, 1, 2, 3, 7, 8, 31, 32, 33, 64, 128, 255, 256, 257, 512, 1000, 1024, 1536, 4097})
    columns.push_back({n});
  if (kernel.reduced == 2) columns = {{1, 1}, {3, 4}, {0, 8}, {5, 7}, {16, 16}, {7, 36}, {31, 33}};
  std::vector<std::vector<std::int64_t>> result;
  for (const auto& row : rows) {
    for (const auto& column : columns) {
      result.push_back(row);
      result.back().insert(result.back().end(), column.begin(), column.end());
      if (row.size() == 1 && row[0] == 67 && column[0] > 64) result.pop_back();
    }
  }
  return result;
}

class RowForms : public ::testing::TestWithParam<std::size_t> {};

TEST_P(RowForms, EveryShapeMatchesTheReference) {
  const ReductionCase test = row_cases()[GetParam()];
  const auto& kernel = emitted(test.name);
  int runs = 0;
  for (const auto& extents : shapes(test.kernel)) {
    ReductionRun run(test.kernel, extents);
    if (!admits(test, extents, run.length())) continue;
    SCOPED_TRACE(::testing::PrintToString(extents));
    run.fill(noise);
    const std::vector<double> parameters = {1.0 / static_cast<double>(std::max<std::int64_t>(run.length(), 1)), 1e-5};
    run.launch(test.schedule, kernel.call, kernel.size, parameters, 0);
    if (HasFatalFailure()) return;
    const DType type = test.kernel.accesses.back().type;
    run.expect(parameters, type == DType::bf16 ? 4e-3 : type == DType::f64 ? 1e-11 : 2e-5);
    if (HasFailure()) return;
    // Rule: the order in which blocks run never changes a bit.
    const std::vector<std::uint8_t> before = run.results();
    run.launch(test.schedule, kernel.call, kernel.size, parameters, 12345);
    EXPECT_EQ(run.results(), before);
    ++runs;
  }
  EXPECT_GE(runs, test.schedule.whole_rows && test.schedule.resident ? 1 : 2);
}

INSTANTIATE_TEST_SUITE_P(Kernels, RowForms, ::testing::Range<std::size_t>(0, row_cases().size()),
                         [](const auto& test) { return row_cases()[test.param].name; });

ReductionCase case_of(const std::string& name) {
  for (ReductionCase& test : row_cases()) {
    if (test.name == name) return test;
  }
  ADD_FAILURE() << "no case " << name;
  return {};
}

void launch(ReductionRun& run, const ReductionCase& test) {
  const auto& kernel = emitted(test.name);
  run.launch(test.schedule, kernel.call, kernel.size, {1, 1}, 0);
}

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

// Rule: log-sum-exp of a row of -inf is -inf, of one with +inf +inf, of one with NaN NaN; nothing overflows.
TEST(RowValues, LogSumExpOfSpecialValues) {
  for (const char* name : {"logsumexp_steps", "logsumexp_split"}) {
    const ReductionCase test = case_of(name);
    ReductionRun run(test.kernel, {7, 1500});
    run.fill_rows(0, [](std::int64_t row, std::int64_t element) {
      const bool here = element == 700 + row;
      switch (row) {
        case 0:
          return -infinity;
        case 1:
          return here ? infinity : noise(static_cast<std::size_t>(element));
        case 2:
          return here ? nan : noise(static_cast<std::size_t>(element));
        case 3:
          return here ? 3.0 : -infinity;
        case 4:
          return here ? 1e30 : -1e30;
        case 5:
          return here ? infinity : -infinity;
        default:
          return here ? nan : -infinity;
      }
    });
    launch(run, test);
    run.expect({1, 1}, 1e-6);
    EXPECT_EQ(run.result(0, 0), -infinity) << name;
    EXPECT_EQ(run.result(0, 1), infinity) << name;
    EXPECT_EQ(run.result(0, 3), 3.0) << name;
    EXPECT_EQ(run.result(0, 5), infinity) << name;
  }
}

// Rule: argmax gives the first NaN, else the lowest index of ties.
TEST(RowValues, ArgmaxOfTiesAndNan) {
  for (const auto& [name, length] : {std::pair("argmax_steps", 3000), std::pair("argmax_lanes", 120)}) {
    const ReductionCase test = case_of(name);
    ReductionRun run(test.kernel, {4, length});
    const std::int64_t first = length / 3, second = length - 2;
    run.fill_rows(0, [&](std::int64_t row, std::int64_t element) {
      const bool one = element == first, two = element == second;
      if (row == 0) return one || two ? 9.0 : noise(static_cast<std::size_t>(element));
      if (row == 1) return two || one ? nan : element == 1 ? infinity : 0.0;
      if (row == 2) return -infinity;
      return two ? nan : 1.0;
    });
    launch(run, test);
    EXPECT_EQ(run.result(0, 0), static_cast<double>(first)) << name;
    EXPECT_EQ(run.result(0, 1), static_cast<double>(first)) << name;
    EXPECT_EQ(run.result(0, 2), 0) << name;
    EXPECT_EQ(run.result(0, 3), static_cast<double>(second)) << name;
  }
}

// Rule: the error of a sum in f32 is at most log2(n) u sum |x|; here one block takes hundreds of steps.
TEST(RowValues, LongSumIsAccurate) {
  const ReductionCase test = case_of("sum_steps");
  constexpr std::int64_t n = 300001;
  ReductionRun run(test.kernel, {1, n});
  double sum = 0, magnitude = 0;
  run.fill_rows(0, [&](std::int64_t, std::int64_t element) {
    const double x = static_cast<double>(static_cast<float>(0.1 + noise(static_cast<std::size_t>(element)) * 1e-3));
    sum += x, magnitude += std::fabs(x);
    return x;
  });
  launch(run, test);
  EXPECT_LE(std::fabs(run.result(0, 0) - sum), std::log2(double(n)) * 0x1p-24 * magnitude);
}

// Rule: the error of a sum of exponentials relative to a maximum found on the way is at most log2(n) u of it beside the
// errors of its terms; here one block takes hundreds of steps, and the maximum grows at nearly all of them.
TEST(RowValues, LongSumsOfExponentialsAreAccurate) {
  for (const char* name :
       {"logsumexp_steps", "logsumexp_f32", "logsumexp_beside_sum", "logsumexp_split", "joined_f32"}) {
    const ReductionCase test = case_of(name);
    expect_long_exponentials(test, name == std::string("joined_f32"), [&](ReductionRun& run) { launch(run, test); });
  }
}

// Rule: the error of a variance is at most log2(n) u of it beside that of its differences, and what the rounding of the
// mean, squared, adds; here the mean moves by less than its last place at most steps.
TEST(RowValues, LongVariancesAreAccurate) {
  for (const char* name : {"moments_steps", "moments_split"}) {
    const ReductionCase test = case_of(name);
    expect_long_variances(test, [&](ReductionRun& run) { launch(run, test); });
  }
}

// Rule: NaN propagates through sum, max and product; a sum that meets inf is inf, and of +inf and -inf NaN; a sum of
// negative zeros is one.
TEST(RowValues, SumsOfSpecialValues) {
  for (const char* name : {"several_steps", "several_lanes"}) {
    const ReductionCase test = case_of(name);
    ReductionRun run(test.kernel, {5, 64});
    run.fill([](std::size_t) { return 1.0; });
    run.fill_rows(0, [](std::int64_t row, std::int64_t element) {
      if (element == 40 && row == 0) return nan;
      if (element == 40 && row == 1) return infinity;
      if (element == 41 && row == 2) return -infinity;
      if (element == 40 && row == 2) return infinity;
      return row == 3 ? -0.0 : 3e38 * double(row == 4);
    });
    launch(run, test);
    EXPECT_TRUE(std::isnan(run.result(0, 0)) && std::isnan(run.result(1, 0)) && std::isnan(run.result(2, 0))) << name;
    EXPECT_EQ(run.result(0, 1), infinity) << name;
    EXPECT_TRUE(std::isnan(run.result(0, 2))) << name;
    EXPECT_TRUE(run.result(0, 3) == 0 && std::signbit(run.result(0, 3))) << name;
    EXPECT_EQ(run.result(0, 4), infinity) << name;
  }
}

// Rule: division by a value of the row rounds like any division, subnormal, zero, infinite or not.
TEST(RowValues, DivisionByTheRowIsExact) {
  const double special[] = {0.0,     -0.0,     0x1p-140,  -0x1.8p-130, 0x1.fffffep-61, 0x1p-60, 0x1.fffffep+60,
                            0x1p+61, 0x1p-149, -0x1p+100, nan,         -infinity};
  const double largest[] = {1.0, 3.0, 0x1.8p-70, 0x1.fffffep+127, 0x1p-149, 0.0, infinity, 0x1.555556p+20};
  for (const char* name : {"ratio_warp", "ratio_steps"}) {
    const ReductionCase test = case_of(name);
    constexpr std::int64_t length = 240;
    ReductionRun run(test.kernel, {8, length});
    const auto value = [&](std::int64_t row, std::int64_t element) {
      const double top = largest[row];
      if (element == 17) return top;
      const double x = static_cast<double>(static_cast<float>(
          element < 12 ? special[element] : top * std::fabs(noise(static_cast<std::size_t>(element))) / 4));
      return x <= top ? x : 0.0;  // NaN stays out as well: the maximum is known
    };
    run.fill_rows(0, value);
    launch(run, test);
    for (std::int64_t row = 0; row < 8; ++row) {
      for (std::int64_t element = 0; element < length; ++element) {
        const float expected = static_cast<float>(value(row, element)) / static_cast<float>(largest[row]);
        const auto actual = static_cast<float>(run.result(0, row, element));
        EXPECT_TRUE((std::isnan(actual) && std::isnan(expected)) ||
                    std::bit_cast<std::uint32_t>(actual) == std::bit_cast<std::uint32_t>(expected))
            << name << ", row " << row << ", element " << element << ": " << actual << ", not " << expected;
      }
    }
  }
}

// Rule: a quotient by a value of the row is rounded like a division. The bounds are those within which it is taken.
TEST(RowValues, QuotientsByAReciprocalAreExact) {
  using namespace emulation::ratio_warp;
  const auto expect = [](float a, float divisor) {
    bool plain = true;
    const float got = quotient(a, ratio(divisor), plain);
    ASSERT_TRUE(plain) << a << " / " << divisor;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(a / divisor)) << a << " / " << divisor;
  };
  std::uint64_t x = 88172645463325252u;
  const auto next = [&] {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    const auto exponent = static_cast<std::uint32_t>(127 - 60 + x % 120), bits = static_cast<std::uint32_t>(x >> 32);
    return std::bit_cast<float>(exponent << 23 | (bits & 0x7fffffu));
  };
  for (int i = 0; i < 10'000'000; ++i) {
    const float a = next(), divisor = next();
    expect(i % 2 ? -a : a, divisor);
    if (HasFatalFailure()) return;
  }
  for (const std::uint32_t mantissa : {0u, 1u, 0x2aaaaau, 0x3504f3u, 0x7ffffeu, 0x7fffffu}) {
    for (std::uint32_t a = 0; a < 1u << 23; a += 3)
      expect(std::bit_cast<float>(0x3f800000u | a), std::bit_cast<float>(0x3f800000u | mantissa));
    if (HasFatalFailure()) return;
  }
}

// Rule: a quotient that is only stored as bf16 is that of an f32 value within 1.5 ulp, whatever the divisor: the ends
// of the range are divided.
TEST(RowValues, RoundedQuotientsAreNearest) {
  const double special[] = {0.0, 1.0, 0x1p-130, -0x1.8p-128, 0x1p-61, 0x1p+61, -0x1p+100, nan, -infinity};
  const double largest[] = {1.0, 3.0, 0x1.8p-70, 0x1p+127, 0x1p-130, 0.0, infinity, 0x1.56p+20};
  const ReductionCase test = case_of("ratio_rounded");
  constexpr std::int64_t length = 240;
  ReductionRun run(test.kernel, {8, length});
  const auto value = [&](std::int64_t row, std::int64_t element) {
    const double top = largest[row];
    if (element == 17) return top;
    const double x =
        element < 9 ? special[element] : top * std::floor(noise(static_cast<std::size_t>(element)) * 64) / 128;
    const auto held = std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(x)) & 0xffff0000u);
    return held <= top && held != 0 ? static_cast<double>(held) : 0.0;  // no -0: the maximum's sign is known
  };
  run.fill_rows(0, value);
  launch(run, test);
  for (std::int64_t row = 0; row < 8; ++row) {
    for (std::int64_t element = 0; element < length; ++element) {
      const double want = value(row, element) / largest[row], got = run.result(0, row, element);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << "row " << row << ", element " << element << ": " << got;
      } else if (std::isinf(want) || std::fabs(want) > 0x1.ffp+127) {
        EXPECT_EQ(got, want < 0 ? -infinity : infinity) << "row " << row << ", element " << element;
      } else {  // half an ulp of bf16 and 1.5 ulp of f32
        EXPECT_NEAR(got, want, (0x1p-8 * 0.5 * 2 + 1.5 * 0x1p-23) * std::fabs(want) + 0x1p-134 + 0x1p-149)
            << "row " << row << ", element " << element;
      }
    }
  }
}

// Rule: the scaled exponential keeps what bf16 can hold, within 4 ulp of f32 and what rounding x - max may lose.
TEST(RowValues, ScaledExponentialsReachTheLeastOfBf16) {
  using namespace emulation::softmax_block;
  EXPECT_EQ(exp_below_scaled(0.0f), 256.0f);
  EXPECT_LT(exp_below_scaled(-std::numeric_limits<float>::infinity()), 0x1p-126f);  // flushed by the device
  EXPECT_TRUE(std::isnan(exp_below_scaled(std::numeric_limits<float>::quiet_NaN())));
  for (float x = 0.0f; x > -92.8f; x -= 0x1.3p-12f) {
    const double want = 256 * std::exp(static_cast<double>(x));
    ASSERT_NEAR(exp_below_scaled(x), want, (0x1p-21 + 0x1p-24 * std::fabs(x)) * want) << x;
  }
}

// Rule: exp(x - max) / sum of a row of -inf is NaN, as of one with +inf or NaN; masked elements get 0, and subnormal
// shares are kept.
TEST(RowValues, SoftmaxOfSpecialValues) {
  constexpr std::int64_t length = 1200;
  const auto eighths = [](std::int64_t i) { return std::floor(noise(static_cast<std::size_t>(i)) * 8) / 8; };
  const auto value = [&](std::int64_t row, std::int64_t element) {
    const bool here = element == 300 + row;
    if (row == 0) return -infinity;
    if (row == 1) return here ? infinity : eighths(element);
    if (row == 2) return here ? nan : eighths(element);
    if (row == 3) return element % 3 == 0 ? eighths(element) : -infinity;
    if (row == 4) return here ? 0.0 : -static_cast<double>(element % 112);
    return here ? 1e30 : row == 5 ? -1e30 : -infinity;
  };
  for (const char* name : {"softmax_steps", "softmax_block", "joined_steps", "cluster2_softmax", "cluster2_joined",
                           "turns2_softmax", "turns2_joined", "turns4_joined"}) {
    const ReductionCase test = case_of(name);
    const bool rounded = test.kernel.accesses.back().type == DType::bf16;
    ReductionRun run(test.kernel, {7, length});
    run.fill_rows(0, value);
    launch(run, test);
    for (std::int64_t row = 0; row < 7; ++row) {
      long double largest = -infinity, sum = 0;
      for (std::int64_t i = 0; i < length; ++i) largest = std::max<long double>(largest, value(row, i));
      for (std::int64_t i = 0; i < length; ++i) sum += std::exp(static_cast<long double>(value(row, i)) - largest);
      for (std::int64_t i = 0; i < length; ++i) {
        const double got = run.result(0, row, i);
        if (row < 3) {
          ASSERT_TRUE(std::isnan(got)) << name << ", row " << row << ", element " << i;
          continue;
        }
        const auto want = static_cast<double>(std::exp(static_cast<long double>(value(row, i)) - largest) / sum);
        ASSERT_NEAR(got, want, (rounded ? 4e-3 : 1e-6) * want + (rounded ? 0x1p-133 : 0x1p-149))
            << name << ", row " << row << ", element " << i;
      }
    }
  }
}

// Rule: results may be written over the operand; every element is read before it is written.
TEST(RowValues, InPlace) {
  for (const auto& [name, length] :
       {std::pair("softmax_steps", 2000), std::pair("softmax_lanes8", 61), std::pair("softmax_block", 1000),
        std::pair("cluster2_softmax", 1400), std::pair("turns2_joined", 3000)}) {
    const ReductionCase test = case_of(name);
    ReductionRun run(test.kernel, {67, length});
    run.fill(noise);
    run.write_over(0, 0);
    launch(run, test);
    run.expect({}, 4e-3);
  }
}

}  // namespace
}  // namespace kiln::golden
