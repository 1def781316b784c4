// tests/unit/codegen/lower_reductions_test.cpp -- lowered reductions by value, against plain loops, in every order.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include "tests/unit/codegen/reduction_interpreter.h"

namespace kiln::codegen::testing {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

PassOptions holding(bool holds_rows) {
  PassOptions options;
  options.holds_rows = holds_rows;
  return options;
}

RowProgram plain(Reduction kind, DType type, const PassOptions& options = {}) {
  return {{type}, options, [&](Graph& g, const std::vector<NodeId>& in) {
            return g.reduce(reduction(kind), type, {in[0]});
          }};
}

std::size_t count_reductions(const Graph& graph) {
  return static_cast<std::size_t>(std::count_if(graph.nodes().begin(), graph.nodes().end(),
                                                [](const Node& node) { return node.kind == NodeKind::reduce; }));
}

/// argmax or argmin of operand 0 with the positions of operand 1.
RowProgram extreme_position(Reduction kind, DType type, IotaRange range = {}) {
  PassOptions options;
  options.iotas = {{}, range};
  Graph graph;
  return {{type, DType::i64}, options, [&](Graph& g, const std::vector<NodeId>& in) {
            return g.reduce(reduction(kind), DType::i64, {in[0], g.iota(1)});
          }};
}

std::int64_t position_in(const RowProgram& program, const std::vector<Value>& values, Order order) {
  Operand row{values, true}, positions;
  positions.per_element = true;
  for (std::size_t i = 0; i < values.size(); ++i) positions.values.push_back(to_value(static_cast<std::int64_t>(i)));
  return from_value<std::int64_t>(program.run({row, positions}, values.size(), order).values.at(0));
}

/// api.md section 8: the first NaN, else the lowest index of ties.
template <class T>
std::int64_t expected_position(Reduction kind, const std::vector<T>& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != values[i]) return static_cast<std::int64_t>(i);
  std::size_t best = 0;
  for (std::size_t i = 1; i < values.size(); ++i)
    if (kind == Reduction::argmax ? values[i] > values[best] : values[i] < values[best]) best = i;
  return static_cast<std::int64_t>(best);
}

/// All rows of four elements out of `samples`.
template <class T>
void check_positions(const std::vector<T>& samples) {
  for (const Reduction kind : {Reduction::argmax, Reduction::argmin}) {
    const RowProgram program = extreme_position(kind, dtype_of<T>);
    const std::size_t n = samples.size();
    for (std::size_t code = 0; code < n * n * n * n; ++code) {
      const std::vector<T> row = {samples[code % n], samples[code / n % n], samples[code / n / n % n],
                                  samples[code / n / n / n]};
      std::vector<Value> values;
      for (const T x : row) values.push_back(to_value(x));
      for (const Order order : all_orders)
        ASSERT_EQ(position_in(program, values, order), expected_position(kind, row)) << code << "\n" << program.text();
    }
  }
}

TEST(LowerReductions, PositionsOfExtremaOfEveryKindOfValue) {
  check_positions<float>({NAN, -INFINITY, -0.0f, 0.0f, 2.0f, INFINITY});
  check_positions<double>({nan, -inf, -1.0, 0.0, inf});
  check_positions<std::int8_t>({-128, 0, 127});
  check_positions<std::uint64_t>({0, 1, ~std::uint64_t{0}});
  check_positions<bool>({false, true});
}

// The position takes 32 bits where the bounds of the iota allow it, and the widest position is left to the identity.
TEST(LowerReductions, PositionsAreShortWhereTheRangeAllows) {
  const auto has_short_state = [](IotaRange range) {
    const Graph body = extreme_position(Reduction::argmax, DType::f32, range).body();
    return std::any_of(body.nodes().begin(), body.nodes().end(),
                       [&](const Node& node) { return node.kind == NodeKind::element && node.type == DType::i32; });
  };
  EXPECT_TRUE(has_short_state({0, 1000}));
  EXPECT_TRUE(has_short_state({0, 2147483646}));
  EXPECT_FALSE(has_short_state({0, 2147483647}));
  EXPECT_FALSE(has_short_state({-1, 10}));
  const RowProgram short_one = extreme_position(Reduction::argmin, DType::f32, {0, 1000});
  EXPECT_EQ(position_in(short_one, {to_value(2.0f), to_value(1.0f), to_value(1.0f)}, Order::tree), 1);
}

/// log(sum(exp(x))) in extended precision.
double logsumexp_of(const std::vector<double>& row) {
  const double largest = *std::max_element(row.begin(), row.end());
  long double sum = 0;
  for (const double x : row) sum += std::exp(static_cast<long double>(x) - static_cast<long double>(largest));
  return static_cast<double>(static_cast<long double>(largest) + std::log(sum));
}

TEST(LowerReductions, LogsumexpInBothForms) {
  std::mt19937 random(7);
  for (const bool holds : {false, true}) {
    const RowProgram program = plain(Reduction::logsumexp, DType::f64, holding(holds));
    const RowProgram single = plain(Reduction::logsumexp, DType::f32, holding(holds));
    for (const double offset : {0.0, 1000.0, -1000.0}) {
      std::normal_distribution<double> normal(offset, 3.0);
      std::vector<double> row(37);
      for (double& x : row) x = normal(random);
      const std::vector<float> narrow(row.begin(), row.end());
      const std::vector<double> widened(narrow.begin(), narrow.end());
      for (const Order order : all_orders) {
        EXPECT_NEAR(program.reduce<double>(row, order), logsumexp_of(row), 1e-14 * (1 + std::abs(offset)));
        EXPECT_NEAR(single.reduce<float>(narrow, order), logsumexp_of(widened), 2e-6 * (1 + std::abs(offset) / 10));
      }
    }
  }
}

TEST(LowerReductions, LogsumexpOfInfinitiesNanAndNothing) {
  for (const bool holds : {false, true}) {
    const RowProgram program = plain(Reduction::logsumexp, DType::f64, holding(holds));
    for (const Order order : all_orders) {
      SCOPED_TRACE(static_cast<int>(order) + 10 * static_cast<int>(holds));
      EXPECT_TRUE(same(program.reduce<double>(std::vector{-inf, -inf, -inf}, order), -inf));
      EXPECT_TRUE(same(program.reduce<double>(std::vector{-inf, 2.0, -inf}, order), 2.0));
      EXPECT_TRUE(same(program.reduce<double>(std::vector{1.0, inf, 2000.0, inf}, order), inf));
      EXPECT_TRUE(same(program.reduce<double>(std::vector{inf, -inf}, order), inf));
      EXPECT_TRUE(same(program.reduce<double>(std::vector{1.0, nan, inf}, order), nan));
      EXPECT_TRUE(same(program.reduce<double>(std::vector{-inf, nan}, order), nan));
      EXPECT_TRUE(same(program.reduce<double>(std::vector<double>{}, order), -inf));
      EXPECT_TRUE(same(program.reduce<double>(std::vector{-0.0}, order), 0.0));
    }
  }
}

RowProgram deviations(DType type, bool holds, bool with_mean = false) {
  return {{type, type}, holding(holds), [&](Graph& g, const std::vector<NodeId>& in) {
            const NodeId squares = g.reduce(reduction(Reduction::squared_deviations), type, {in[0], in[1]});
            if (!with_mean) return squares;
            Builder b(g);
            return b.add(squares, b.div(g.reduce(reduction(Reduction::sum), type, {in[0]}), in[1]));
          }};
}

template <class T>
T deviations_of(const RowProgram& program, const std::vector<T>& row, Order order) {
  const Operand count{{to_value(static_cast<T>(row.size()))}, false};
  return from_value<T>(program.run({elements(row), count}, row.size(), order).values.at(0));
}

template <class T>
double expected_deviations(const std::vector<T>& row) {
  long double mean = 0, squares = 0;
  for (const T x : row) mean += static_cast<long double>(x);
  mean /= static_cast<long double>(row.size());
  for (const T x : row) squares += (static_cast<long double>(x) - mean) * (static_cast<long double>(x) - mean);
  return static_cast<double>(squares);
}

// Far from zero E[x^2] - E[x]^2 would have no correct digit in f32.
TEST(LowerReductions, SquaredDeviationsFarFromZero) {
  std::mt19937 random(11);
  for (const bool holds : {false, true}) {
    const RowProgram single = deviations(DType::f32, holds), wide = deviations(DType::f64, holds);
    for (const double offset : {0.0, 1e4, -1e5}) {
      std::normal_distribution<double> normal(offset, 1.0);
      std::vector<double> row(101);
      for (double& x : row) x = normal(random);
      const std::vector<float> narrow(row.begin(), row.end());
      const double of_row = expected_deviations(row), of_narrow = expected_deviations(narrow);
      for (const Order order : all_orders) {
        // To first order: u for each of n elements, and the rounded means against a deviation of 1.
        const double units = 101 + std::abs(offset);
        EXPECT_NEAR(deviations_of(wide, row, order), of_row, 0x1p-53 * units * of_row);
        EXPECT_NEAR(deviations_of(single, narrow, order), of_narrow, 0x1p-24 * units * of_narrow);
      }
    }
  }
}

TEST(LowerReductions, SquaredDeviationsOfSpecialRows) {
  for (const bool holds : {false, true}) {
    const RowProgram program = deviations(DType::f32, holds);
    for (const Order order : all_orders) {
      SCOPED_TRACE(static_cast<int>(order) + 10 * static_cast<int>(holds));
      EXPECT_TRUE(same(deviations_of<float>(program, {-3.5f}, order), 0.0f)) << "one element";
      EXPECT_TRUE(same(deviations_of<float>(program, {-3.0f, -3.0f, -3.0f, -3.0f}, order), 0.0f));
      EXPECT_TRUE(same(deviations_of<float>(program, {1.0f, 3.0f}, order), 2.0f));
      EXPECT_TRUE(same(deviations_of<float>(program, {1e25f, 1e25f}, order), 0.0f)) << "squares of means overflow";
      EXPECT_TRUE(same(deviations_of<float>(program, {1e25f, -1e25f, 1e25f, -1e25f}, order), INFINITY));
      for (const float special : {INFINITY, -INFINITY, NAN}) {
        EXPECT_TRUE(same(deviations_of<float>(program, {special}, order), NAN));
        EXPECT_TRUE(same(deviations_of<float>(program, {1.0f, special, 2.0f}, order), NAN));
        EXPECT_TRUE(same(deviations_of<float>(program, {special, special}, order), NAN));
      }
      EXPECT_EQ(deviations_of<float>(program, {}, order), 0.0f) << "no element";
    }
  }
}

template <class T>
void expect_no_deviations(const RowProgram& program) {
  for (const std::size_t n : {2u, 3u, 7u, 10u, 33u, 100u, 500u, 1000u, 3001u}) {
    for (int k = 0; k < 20; ++k) {
      const std::vector<T> row(n, static_cast<T>((k % 2 ? -1 : 1) * (0.1 + 0.0137 * k) * std::pow(10, k % 7)));
      for (const Order order : all_orders) {
        if (n > 100 && order < Order::tree) continue;  // no kernel that holds rows joins so many one by one
        ASSERT_EQ(deviations_of<T>(program, row, order), T(0)) << n << ", " << row[0];
      }
    }
  }
}

// Equal elements have no variance, though n x / n need not be x when the sum is rounded (case A04).
TEST(LowerReductions, SquaredDeviationsOfEqualElementsAreZero) {
  for (const bool holds : {false, true}) {
    SCOPED_TRACE(holds);
    expect_no_deviations<float>(deviations(DType::f32, holds));
    expect_no_deviations<double>(deviations(DType::f64, holds));
  }
}

// Deviations far smaller than the roundings of the mean's sum are found all the same: the mean's error is taken out.
TEST(LowerReductions, SmallDeviationsBesideARoundedMean) {
  const RowProgram program = deviations(DType::f32, true);
  std::vector<float> row(1000, 1.1f);
  for (std::size_t i = 0; i < row.size(); i += 10) row[i] = std::nextafter(1.1f, 2.0f);
  const double expected = expected_deviations(row);  // 90 ulp^2: sums of a thousand numbers are off by more
  EXPECT_NEAR(deviations_of(program, row, Order::tree), expected, 1e-4 * expected);
}

// combiners.h: only ratios of counts matter, so an f32 count may be far above 2^24.
TEST(LowerReductions, PartialVariancesOfLargeCountsJoin) {
  const Graph body = deviations(DType::f32, false).body();
  const auto joining = std::find_if(body.nodes().begin(), body.nodes().end(),
                                    [](const Node& node) { return node.kind == NodeKind::reduce; });
  const Monoid monoid = monoid_of(body, static_cast<NodeId>(joining - body.nodes().begin()));
  EXPECT_EQ(monoid.kind, Reduction::squared_deviations);
  const float n = 0x1p27f;
  std::vector<Value> states;
  for (const float x : {n, 1.0f, n, 3 * n, 3.0f, 3 * n}) states.push_back(to_value(x));  // counts, means, squares
  const std::vector<Value> joined = interpret(monoid.combine, states);
  EXPECT_EQ(from_value<float>(joined[0]), 4 * n);
  EXPECT_FLOAT_EQ(from_value<float>(joined[1]), 2.5f);
  EXPECT_FLOAT_EQ(from_value<float>(joined[2]), 4 * n + 4.0f * n * 0.75f);
}

// The mean that the two-pass form needs is the one that an expression beside it computes.
TEST(LowerReductions, TwoPassesShareTheMean) {
  EXPECT_EQ(count_reductions(deviations(DType::f32, true, true).body()), 3u) << "the sum of deviations is one more";
  EXPECT_EQ(count_reductions(deviations(DType::f32, false, true).body()), 2u);
  EXPECT_EQ(count_reductions(deviations(DType::f32, false).body()), 1u);
}

template <class T>
T reduced(Reduction kind, const std::vector<T>& row, Order order) {
  return plain(kind, dtype_of<T>).template reduce<T>(row, order);
}

TEST(LowerReductions, PlainKindsOfTheTypesThatTheyHave) {
  for (const Order order : all_orders) {
    SCOPED_TRACE(static_cast<int>(order));
    EXPECT_EQ(reduced<std::int8_t>(Reduction::sum, {100, 100, 100}, order), 44) << "wraps";
    EXPECT_EQ(reduced<std::uint8_t>(Reduction::sum, {100, 100, 100}, order), 44);
    EXPECT_EQ(reduced<std::int16_t>(Reduction::prod, {-300, 300}, order), std::int16_t(-90000 + 65536));
    EXPECT_EQ(reduced<std::int8_t>(Reduction::max, {-128, -5, -7}, order), -5);
    EXPECT_EQ(reduced<std::uint16_t>(Reduction::min, {65535, 9}, order), 9);
    EXPECT_EQ(reduced<std::int64_t>(Reduction::sum, {std::int64_t{1} << 40, -1}, order), (std::int64_t{1} << 40) - 1);
    EXPECT_TRUE(same(reduced<float>(Reduction::max, {-0.0f, 0.0f}, order), 0.0f));
    EXPECT_TRUE(same(reduced<float>(Reduction::min, {0.0f, -0.0f}, order), -0.0f));
    EXPECT_TRUE(same(reduced<double>(Reduction::max, {1.0, nan, inf}, order), nan));
    EXPECT_TRUE(same(reduced<double>(Reduction::max, {-inf, -inf}, order), -inf));
    EXPECT_EQ(reduced<double>(Reduction::prod, {2.0, -3.0, 4.0}, order), -24.0);
    for (const Reduction kind : {Reduction::any, Reduction::max, Reduction::sum}) {
      EXPECT_TRUE(reduced<bool>(kind, {false, true, false}, order));
      EXPECT_FALSE(reduced<bool>(kind, {false, false}, order));
    }
    for (const Reduction kind : {Reduction::all, Reduction::min, Reduction::prod}) {
      EXPECT_FALSE(reduced<bool>(kind, {true, false, true}, order));
      EXPECT_TRUE(reduced<bool>(kind, {true, true}, order));
    }
  }
}

// A sum of negative zeros is a negative zero, as IEEE addition of its elements gives; of nothing it is a positive one.
TEST(LowerReductions, TheSignOfAZeroSum) {
  for (const Order order : all_orders) {
    EXPECT_TRUE(same(reduced<float>(Reduction::sum, {-0.0f}, order), -0.0f));
    EXPECT_TRUE(same(reduced<double>(Reduction::sum, {-0.0, -0.0, -0.0, -0.0, -0.0}, order), -0.0));
    EXPECT_TRUE(same(reduced<double>(Reduction::sum, {-0.0, 0.0}, order), 0.0));
  }
}

TEST(LowerReductions, OfNothing) {
  PassOptions nothing;
  nothing.empty_rows = true;
  const auto of_nothing = [&](Reduction kind, DType type) {
    const RowProgram program = plain(kind, type, nothing);
    EXPECT_EQ(count_reductions(program.body()), 0u);
    return program;
  };
  EXPECT_TRUE(same(of_nothing(Reduction::sum, DType::f32).reduce<float>(std::vector<float>{}), 0.0f));
  EXPECT_TRUE(same(of_nothing(Reduction::prod, DType::f64).reduce<double>(std::vector<double>{}), 1.0));
  EXPECT_EQ(of_nothing(Reduction::prod, DType::i64).reduce<std::int64_t>(std::vector<std::int64_t>{}), 1);
  EXPECT_FALSE(of_nothing(Reduction::any, DType::b1).reduce<bool>(std::vector<bool>{}));
  EXPECT_TRUE(of_nothing(Reduction::all, DType::b1).reduce<bool>(std::vector<bool>{}));
  EXPECT_EQ(of_nothing(Reduction::logsumexp, DType::f32).reduce<float>(std::vector<float>{}), -INFINITY);
  const RowProgram pair({DType::f32, DType::i32}, nothing, [](Graph& g, const std::vector<NodeId>& in) {
    const ReductionSpec spec = combination(
        {DType::f32, DType::i32}, [](Graph&, const std::vector<NodeId>& x) { return std::vector{x[0], x[3]}; });
    const NodeId state = g.primitive(NodeKind::tuple, DType::f32, {in[0], in[1]});
    const NodeId identity =
        g.primitive(NodeKind::tuple, DType::f32, {g.literal_value(DType::f32, 5), g.literal_value(DType::i32, 6)});
    return g.primitive(NodeKind::element, DType::i32, {g.reduce(spec, DType::f32, {state, identity})}, 1);
  });
  EXPECT_EQ(from_value<std::int32_t>(pair.run({{{}, true}, {{}, true}}, 0, Order::forward).values.at(0)), 6);
}

}  // namespace
}  // namespace kiln::codegen::testing
