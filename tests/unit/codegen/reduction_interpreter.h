// tests/unit/codegen/reduction_interpreter.h -- evaluates legalised bodies with reductions and scans over rows.
#pragma once

#include "codegen/ir/reduction.h"
#include "tests/unit/codegen/interpreter.h"

namespace kiln::codegen::testing {

/// In what order the elements of a row are joined. Any is right, up to rounding.
enum class Order : std::uint8_t {
  forward,      ///< one accumulator, from the identity on
  backward,     ///< one accumulator, from the last element, on the right
  tree,         ///< neighbours, then neighbours of the results
  interleaved,  ///< four accumulators that take every fourth element, each from the identity on
};
inline constexpr Order all_orders[] = {Order::forward, Order::backward, Order::tree, Order::interleaved};

/// What access or parameter `a` reads: a value per element (rows * length of them, row by row), per row, or one.
struct Operand {
  std::vector<Value> values;
  bool per_element = false;
};

struct Rows {
  std::size_t rows = 1, length = 0;
  std::vector<Operand> operands;  ///< by access; iotas are operands like others
};

/// One result of an output: its values per element or per row.
using Results = std::vector<Operand>;

Results interpret_rows(const Graph& body, const Rows& rows, Order order, InterpreterOptions options = {});

/// A per-element operand.
template <class T>
Operand elements(const std::vector<T>& values) {
  Operand operand;
  operand.per_element = true;
  for (const T value : values) operand.values.push_back(to_value(value));
  return operand;
}

/// One row through a body that `build` makes of loads of the types of the operands.
class RowProgram {
 public:
  using Build = std::function<NodeId(Graph&, const std::vector<NodeId>&)>;
  RowProgram(const std::vector<DType>& types, const PassOptions& passes, const Build& build);

  const Graph& body() const { return body_; }
  std::string text() const { return to_text(body_); }

  /// The first value of output 0 over a row of `values`.
  template <class R, class T>
  R reduce(const std::vector<T>& values, Order order = Order::forward) const {
    return from_value<R>(run({elements(values)}, values.size(), order).values.at(0));
  }
  /// Output 0 for every element.
  template <class R, class T>
  std::vector<R> map(const std::vector<T>& values, Order order = Order::forward) const {
    std::vector<R> results;
    for (const Value& value : run({elements(values)}, values.size(), order).values)
      results.push_back(from_value<R>(value));
    return results;
  }
  Operand run(const std::vector<Operand>& operands, std::size_t length, Order order) const;
  InterpreterOptions options;

 private:
  Graph body_;
};

/// A specification without a combiner.
ReductionSpec reduction(Reduction kind);
/// One with a combiner that `build` makes of the inputs.
ReductionSpec combination(const std::vector<DType>& components,
                          const std::function<std::vector<NodeId>(Graph&, const std::vector<NodeId>&)>& build);

}  // namespace kiln::codegen::testing
