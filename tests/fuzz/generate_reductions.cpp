// tests/fuzz/generate_reductions.cpp -- random reductions and scans: axes, options, users' functions.
#include <algorithm>
#include <numeric>

#include "tests/fuzz/combiners.h"
#include "tests/fuzz/generator.h"

namespace fuzz {

/// One axis, several, all (named or not), or none at all: every element by itself.
void Generator::choose_axes(Node& reduced, int rank) {
  const bool several = random_.chance(25);
  for (int axis = 0; axis < rank; ++axis)
    if (several && random_.chance(60)) reduced.axes.push_back(axis);
  if (reduced.axes.empty() && rank > 0 && !random_.chance(4))
    reduced.axes = {random_.chance(50) ? rank - 1 : random_.below(rank)};
  if (random_.chance(10)) {
    reduced.axes.resize(static_cast<std::size_t>(rank));
    std::iota(reduced.axes.begin(), reduced.axes.end(), 0);
    reduced.unnamed = random_.chance(50);
  }
  reduced.from_end = random_.chance(40);
  reduced.keepdims = random_.chance(65);
}

/// How many elements are joined to one.
std::int64_t Generator::shape_reduced(Node& reduced, const Shape& shape) {
  std::int64_t joined = 1;
  for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
    const bool is_reduced = std::find(reduced.axes.begin(), reduced.axes.end(), axis) != reduced.axes.end();
    const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
    if (is_reduced) joined *= extent;
    if (!is_reduced || reduced.keepdims) reduced.shape.push_back(is_reduced ? 1 : extent);
  }
  return joined;
}

void Generator::accumulate(Node& reduced, DType type) {
  static const std::vector<DType> any = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32,
                                         DType::i64, DType::u8,  DType::u16, DType::c64};
  static const std::vector<DType> quotients = {DType::f32, DType::f64, DType::bf16, DType::c128};
  static const std::vector<DType> planes = {DType::c64, DType::c128};
  reduced.accumulates = true;
  reduced.type = random_.pick(kiln::is_complex(type) ? planes : reduced.function == Function::mean ? quotients : any);
}

/// Beside the operand, as normalisations do.
void Generator::broadcast_back(int operand, int reduced) {
  const Shape shape = node(operand).shape;
  const bool exact = node(reduced).type == DType::b1 || kiln::is_integer(node(reduced).type);
  const DType type = exact ? DType::f32 : node(reduced).type;
  const int left = as_type(operand, type), right = as_type(reduced, type);
  const Op op = random_.pick(std::vector<Op>{Op::sub, Op::div, Op::mul, Op::sub});
  add({.kind = NodeKind::operation, .type = type, .shape = shape, .inputs = {left, right}, .op = op});
}

void Generator::reduce() {
  const int a = pick_node();
  const int rank = static_cast<int>(node(a).shape.size());
  Node reduced{.kind = NodeKind::reduce};
  choose_axes(reduced, rank);
  if (random_.chance(10)) return reduce_by(a, reduced);
  reduced.function =
      kiln::is_complex(node(a).type) ? complex_reduction() : static_cast<Function>(random_.below(function_count));
  const Function f = reduced.function;
  reduced.ddof = (f == Function::var || f == Function::std_) && random_.chance(30) ? 1 + random_.below(2) : 0;
  const std::int64_t joined = shape_reduced(reduced, node(a).shape);
  const bool needs_one = f == Function::max || f == Function::min || f == Function::argmax || f == Function::argmin;
  if (needs_one && joined == 0) return;
  int operand = a;
  if (f == Function::logsumexp && !kiln::is_floating(node(a).type)) operand = as_type(a, DType::f32);
  reduced.type = result_of(f, node(operand).type);
  if ((f == Function::sum || f == Function::prod || f == Function::mean) && random_.chance(20))
    accumulate(reduced, node(operand).type);
  reduced.inputs = {operand};
  const int r = add(reduced);
  if (reduced.keepdims && random_.chance(60)) broadcast_back(operand, r);
}

/// The function and its operands; false where the node has no axis for positions.
bool Generator::choose_joining(Node& joined, int a) {
  int operand = node(a).type == DType::b1 ? as_type(a, DType::u8) : a;
  if (kiln::is_complex(node(operand).type)) operand = real_part(operand);
  static const std::vector<Joining> of_floats = {Joining::larger, Joining::total, Joining::best};
  static const std::vector<Joining> of_integers = {Joining::twist, Joining::larger, Joining::total, Joining::gaussian,
                                                   Joining::best};
  joined.joining = random_.pick(kiln::is_floating(node(operand).type) ? of_floats : of_integers);
  if (joined.kind == NodeKind::scan && kiln::is_integer(node(operand).type) && random_.chance(40))
    joined.joining = Joining::affine;
  const Shape shape = node(operand).shape;
  const DType type = node(operand).type;
  joined.inputs = {operand};
  joined.type = type;
  if (combiner_of(joined.joining).count == 1) return true;
  joined.component = random_.below(2);
  if (joined.joining != Joining::best) {
    joined.inputs.push_back(
        random_.chance(50)
            ? operand
            : add({.kind = NodeKind::operation, .type = type, .shape = shape, .inputs = {operand}, .op = Op::bit_not}));
    return true;
  }
  if (shape.empty()) return false;
  const int axis = joined.axes.empty() ? 0 : joined.axes.back();
  joined.inputs.push_back(
      add({.kind = NodeKind::index, .type = DType::i64, .shape = shape, .inputs = {operand}, .axes = {axis}}));
  if (joined.component == 1) joined.type = DType::i64;
  return true;
}

void Generator::reduce_by(int a, Node reduced) {
  if (!choose_joining(reduced, a)) return;
  const std::int64_t joined = shape_reduced(reduced, node(a).shape);
  reduced.has_identity = reduced.inputs.size() > 1 || joined == 0 || !random_.chance(30);
  const int r = add(reduced);
  if (reduced.inputs.size() > 1 && random_.chance(40)) {  // both components of one reduction
    reduced.component = 1 - reduced.component;
    reduced.type = node(reduced.inputs[static_cast<std::size_t>(reduced.component)]).type;
    add(reduced);
  }
  if (reduced.keepdims && random_.chance(40)) broadcast_back(reduced.inputs[0], r);
}

void Generator::scan() {
  const int a = pick_node();
  const Shape& shape = node(a).shape;
  const bool complex = kiln::is_complex(node(a).type);
  if (shape.empty() || (complex && long_)) return;  // running sums of complex numbers are slow in the reference
  Node scanned{.kind = NodeKind::scan, .shape = shape, .inputs = {a}};
  scanned.axes = {random_.below(static_cast<int>(shape.size()))};
  scanned.unnamed = shape.size() == 1 && random_.chance(30);
  scanned.from_end = random_.chance(40);
  if (random_.chance(20)) {
    if (choose_joining(scanned, a)) add(scanned);
    return;
  }
  scanned.function = static_cast<Function>(random_.below(complex ? 2 : 4));
  scanned.type = scanned.function <= Function::prod ? sum_type(node(a).type) : node(a).type;
  add(scanned);
}

}  // namespace fuzz
