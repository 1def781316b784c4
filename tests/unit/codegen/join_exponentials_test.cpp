// tests/unit/codegen/join_exponentials_test.cpp -- a maximum and the sum of exponentials relative to it in one pass, by
// value and by structure.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/unit/codegen/reduction_interpreter.h"

namespace kiln::codegen::testing {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

enum class Result : std::uint8_t { sum, softmax, maximum_of_other };

RowProgram program(Result result, bool joins, DType type = DType::f32) {
  PassOptions options;
  options.joins_exponentials = joins;
  return {{type}, options, [&](Graph& g, const std::vector<NodeId>& in) {
            const auto op = [&](Op kind, std::initializer_list<NodeId> operands) {
              return g.operation(kind, type, std::span(operands.begin(), operands.size()));
            };
            const NodeId x = in[0], of = result == Result::maximum_of_other ? op(Op::mul, {x, x}) : x;
            const NodeId largest = g.reduce(reduction(Reduction::max), type, {of});
            const NodeId term = op(Op::exp, {op(Op::sub, {x, largest})});
            const NodeId sum = g.reduce(reduction(Reduction::sum), type, {term});
            return result == Result::softmax ? op(Op::div, {term, sum}) : sum;
          }};
}

std::size_t reductions_of(const Graph& graph) {
  return static_cast<std::size_t>(std::count_if(graph.nodes().begin(), graph.nodes().end(),
                                                [](const Node& node) { return node.kind == NodeKind::reduce; }));
}

// Rule: by structure, in f32 and f64, where the options ask for it; the maximum of another value is none of the sum's.
TEST(JoinExponentialSums, OneReductionWhereTheStructureFits) {
  EXPECT_EQ(reductions_of(program(Result::sum, true).body()), 1u);
  EXPECT_EQ(reductions_of(program(Result::softmax, true).body()), 1u);
  EXPECT_EQ(reductions_of(program(Result::softmax, true, DType::bf16).body()), 1u);
  EXPECT_EQ(reductions_of(program(Result::softmax, false).body()), 2u);
  EXPECT_EQ(reductions_of(program(Result::softmax, true, DType::f64).body()), 1u);
  EXPECT_EQ(reductions_of(program(Result::softmax, false, DType::f64).body()), 2u);
  EXPECT_EQ(reductions_of(program(Result::maximum_of_other, true).body()), 2u);
}

TEST(JoinExponentialSums, ValuesAreThoseOfTheFormula) {
  std::vector<float> row;
  for (int i = 0; i < 100; ++i) row.push_back(static_cast<float>((i * 37) % 101) * 0.21f - 300.0f);
  row[17] = -inf;
  const long double largest = *std::max_element(row.begin(), row.end());
  long double sum = 0;
  for (const float x : row) sum += std::exp(static_cast<long double>(x) - largest);
  for (const Order order : all_orders) {
    EXPECT_NEAR(program(Result::sum, true).reduce<float>(row, order), static_cast<double>(sum), 1e-5);
    EXPECT_NEAR(
        program(Result::sum, true, DType::f64).reduce<double>(std::vector<double>(row.begin(), row.end()), order),
        static_cast<double>(sum), 1e-13 * static_cast<double>(sum));
    const std::vector<float> shares = program(Result::softmax, true).map<float>(row, order);
    ASSERT_EQ(shares.size(), row.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto expected = static_cast<double>(std::exp(static_cast<long double>(row[i]) - largest) / sum);
      EXPECT_NEAR(shares[i], expected, 2e-6 * expected) << i;
    }
  }
}

// Rule: -inf - -inf and inf - inf are NaN, and so is every sum of theirs; NaN propagates.
TEST(JoinExponentialSums, InfinitiesAndNan) {
  const RowProgram joined = program(Result::sum, true), apart = program(Result::sum, false);
  for (const Order order : all_orders) {
    for (const std::vector<float>& row :
         {std::vector{-inf, -inf, -inf}, {1.0f, inf, 2.0f}, {inf, -inf}, {1.0f, nan, 2.0f}, {-inf, nan}}) {
      EXPECT_TRUE(std::isnan(joined.reduce<float>(row, order)));
      EXPECT_TRUE(std::isnan(apart.reduce<float>(row, order)));
    }
    EXPECT_EQ(joined.reduce<float>(std::vector{-inf, 5.0f, -inf}, order), 1.0f);
  }
}

}  // namespace
}  // namespace kiln::codegen::testing
