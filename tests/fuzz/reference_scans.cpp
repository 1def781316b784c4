// tests/fuzz/reference_scans.cpp -- running reductions, and reductions by users' functions, of one row.
#include <algorithm>
#include <cmath>

#include "tests/fuzz/combiners.h"
#include "tests/fuzz/reference.h"

namespace fuzz {
namespace {

using State = std::vector<Number>;  ///< one per component

Number running_integer(Function function, const Number& before, const Number& v, DType type) {
  Number n;
  const auto a = static_cast<std::uint64_t>(before.i), b = static_cast<std::uint64_t>(v.i);
  if (function == Function::sum || function == Function::prod) {
    n.i = static_cast<std::int64_t>(function == Function::sum ? a + b : a * b);
    return n;
  }
  const bool less = type == DType::u64 ? a < b : before.i < v.i;
  return less == (function == Function::max) ? v : before;
}

/// A value that any order of a row may give: floats are compared without NaN.
bool is_open(const Number& v, DType type) { return v.unknown || (kiln::is_floating(type) && std::isnan(v.x)); }

State identity_of(Joining joining, const std::vector<DType>& types) {
  State state;
  for (std::size_t k = 0; k < types.size(); ++k) {
    const std::uint64_t bits = identity_bits(joining, static_cast<int>(k), types[k]);
    Number n;
    if (kiln::is_floating(types[k]))
      n.x = decoded(bits, types[k]);
    else
      n.i = wrap(bits, types[k]);
    state.push_back(n);
  }
  return state;
}

State joined(const Combiner& combiner, const std::vector<DType>& types, const State& left, const State& right) {
  State values = left;
  values.insert(values.end(), right.begin(), right.end());
  for (const JoiningStep& step : combiner.steps) {
    Number operands[3];
    for (std::size_t i = 0; i < step.inputs.size(); ++i) operands[i] = values[static_cast<std::size_t>(step.inputs[i])];
    const DType type = step.of < 0 ? DType::b1 : types[static_cast<std::size_t>(step.of)];
    values.push_back(apply_operation(step.op, type, step.truth ? DType::b1 : type, operands));
  }
  State result;
  for (const int output : combiner.outputs) result.push_back(values[static_cast<std::size_t>(output)]);
  return result;
}

/// Calls `each` with the component that the node is, after every element.
template <class Each>
void run(const Node& node, const std::vector<Values>& rows, const std::vector<DType>& types, Each each) {
  const Combiner& combiner = combiner_of(node.joining);
  const bool floating = kiln::is_floating(types[0]);
  State state;
  RunningSum total;
  bool open = false;
  for (std::size_t i = 0; i < rows[0].size(); ++i) {
    State element;
    for (const Values& row : rows) element.push_back(row[i]);
    for (std::size_t k = 0; k < types.size(); ++k) open = open || is_open(element[k], types[k]);
    if (floating && node.joining == Joining::total) {
      if (!open) total.add(element[0]);
      state = {open ? unknown() : total.value(types[0], true)};
      state[0].sign = false;  // the identity, +0, may have been joined or not
    } else if (floating && node.joining == Joining::larger) {
      state = {open ? unknown() : state.empty() ? element[0] : extreme_of(state[0], element[0], true)};
      if (i > 0) state[0].sign = false;  // of equal numbers either may be kept
    } else {
      state = state.empty() ? element : joined(combiner, types, state, element);
    }
    each(open ? unknown() : state[static_cast<std::size_t>(node.component)]);
  }
}

}  // namespace

void scan(Function function, Values& values, DType type) {
  RunningSum sum;
  RunningProduct product;
  Number before;
  bool open = false;
  const bool larger = function == Function::max;
  if (kiln::is_complex(type)) {
    Values seen;
    for (Number& v : values) {
      seen.push_back(v);
      v = reduce(function, seen, type, 0);
    }
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    Number& v = values[i];
    open = open || v.unknown;
    if (open) {
      v = unknown();
    } else if (!kiln::is_floating(type)) {
      v = before = i == 0 ? v : running_integer(function, before, v, type);
    } else if (function == Function::sum) {
      sum.add(v);
      v = sum.value(type);
    } else if (function == Function::prod) {
      product.add(v, type);
      v = product.value(type);
    } else {
      v = before = i == 0 ? v : extreme_of(before, v, larger);
    }
  }
}

Number join(const Node& node, const std::vector<Values>& rows, const std::vector<DType>& types) {
  Number result = identity_of(node.joining, types)[static_cast<std::size_t>(node.component)];
  run(node, rows, types, [&](const Number& running) { result = running; });
  return result;
}

Values join_running(const Node& node, const std::vector<Values>& rows, const std::vector<DType>& types) {
  Values result;
  run(node, rows, types, [&](const Number& running) { result.push_back(running); });
  return result;
}

}  // namespace fuzz
