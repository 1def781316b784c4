// tests/fuzz/generate.cpp -- random programs: shapes that mostly broadcast, every layout, chained reductions, aliasing.
#include <algorithm>
#include <numeric>

#include "tests/fuzz/generator.h"

namespace fuzz {
namespace {

const std::vector<DType> operand_types = {DType::f32, DType::f32, DType::f32,  DType::f32,  DType::f64,
                                          DType::f16, DType::f16, DType::bf16, DType::bf16, DType::i32,
                                          DType::i64, DType::u8,  DType::i8,   DType::i16,  DType::u32,
                                          DType::u64, DType::u16, DType::b1,   DType::c64,  DType::c128};
std::int64_t count_beside_empty(Shape shape) {
  std::replace(shape.begin(), shape.end(), std::int64_t{0}, std::int64_t{1});
  return count(shape);
}

}  // namespace

/// Rows or columns longer than chunks of the CPU, and than a block of a GPU holds.
Shape Generator::long_universe() {
  static const std::vector<std::int64_t> lengths = {32768, 32769, 40000, 65536, 65537, 70001, 100003, 131072};
  const std::int64_t length = random_.pick(lengths);
  const std::int64_t others = 1 + random_.below(static_cast<int>(max_long_elements / length));
  switch (random_.below(5)) {
    case 0:
      return {length};
    case 1:
      return {length, others};
    case 2:
      return {others, length / 250, 250};
    default:
      return {others, length};
  }
}

Shape Generator::universe() {
  if (long_) return long_universe();
  static const std::vector<std::int64_t> extents = {1,  2,  3,  4,  5,   7,   8,   16,   17,
                                                    31, 32, 33, 64, 100, 128, 257, 1000, 3000};
  Shape shape;
  const int rank = random_.pick(std::vector<int>{0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4});
  for (int axis = 0; axis < rank; ++axis) shape.push_back(random_.chance(2) ? 0 : random_.pick(extents));
  // An axis without elements does not let the others grow: reducing it leaves them.
  while (count_beside_empty(shape) > most_) {
    std::int64_t& extent = *std::max_element(shape.begin(), shape.end());
    extent = (extent + 1) / 2;
  }
  if (rank >= 2 && random_.chance(15)) shape[1] = shape[0];
  while (count_beside_empty(shape) > max_elements) shape[0] = shape[1] = shape[0] / 2;
  return shape;
}

/// Chooses a base array and views of it that give operand.shape.
void Generator::lay_out(Operand& operand) {
  Shape shape = operand.shape;
  std::vector<View> views;                     // last first
  if (!shape.empty() && random_.chance(15)) {  // a broadcast view
    Shape narrow = shape;
    narrow[static_cast<std::size_t>(random_.below(static_cast<int>(shape.size())))] = 1;
    views.push_back({ViewKind::broadcast_to, shape});
    shape = narrow;
  }
  if (!shape.empty() && random_.chance(35)) {
    View slice{ViewKind::slice, {}};
    for (std::int64_t& extent : shape) {
      const std::int64_t step = random_.chance(60) ? 1 : random_.below(3) + 2, offset = random_.below(3);
      const std::int64_t base = offset + (extent == 0 ? 0 : (extent - 1) * step + 1) + random_.below(3);
      std::int64_t first = offset, stop = offset + extent * step, signed_step = step;
      std::int64_t flags = kiln::detail::slice_has_start | kiln::detail::slice_has_stop;
      if (random_.chance(25) && extent > 0) {
        first = offset + (extent - 1) * step;
        stop = offset - 1;
        signed_step = -step;
        if (stop < 0) flags = kiln::detail::slice_has_start;
      }
      slice.numbers.insert(slice.numbers.end(), {flags, first, std::min(stop, base), signed_step});
      extent = base;
    }
    views.push_back(slice);
  }
  if (shape.size() >= 2 && random_.chance(35)) {
    std::vector<std::int64_t> order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i-- > 1;)
      std::swap(order[i], order[static_cast<std::size_t>(random_.below(static_cast<int>(i) + 1))]);
    Shape base(shape.size());
    for (std::size_t axis = 0; axis < shape.size(); ++axis) base[static_cast<std::size_t>(order[axis])] = shape[axis];
    views.push_back({ViewKind::transpose, order});
    shape = base;
  }
  if (count(shape) >
      (long_ ? 2 : 8) * most_elements()) {  // around an axis without elements the others may be of any size
    operand.base = operand.shape;
    return;
  }
  std::reverse(views.begin(), views.end());
  operand.base = shape;
  operand.views = std::move(views);
}

/// Another view of the same memory: flipped, or with equal axes exchanged.
void Generator::add_view_of_memory(Operand& operand, int of) {
  const Operand& other = program_.operands[static_cast<std::size_t>(of)];
  operand = other;
  operand.memory = other.memory >= 0 ? other.memory : of;
  if (operand.shape.empty() || random_.chance(30)) return;
  if (operand.shape.size() >= 2 && operand.shape[0] == operand.shape[1] && random_.chance(60)) {
    std::vector<std::int64_t> order(operand.shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[0], order[1]);
    operand.views.push_back({ViewKind::transpose, order});
    return;
  }
  operand.views.push_back({ViewKind::flip, {random_.below(static_cast<int>(operand.shape.size()))}});
}

void Generator::add_operand() {
  Operand operand;
  const int earlier = static_cast<int>(program_.operands.size());
  if (earlier > 0 && random_.chance(20)) {
    add_view_of_memory(operand, random_.below(earlier));
  } else {
    operand.type = random_.pick(operand_types);
    const std::size_t dropped = !universe_.empty() && random_.chance(20) ? 1 : 0;
    operand.shape.assign(universe_.begin() + static_cast<std::ptrdiff_t>(dropped), universe_.end());
    for (std::int64_t& extent : operand.shape)
      if (random_.chance(15)) extent = 1;
    operand.seed = random_.next();
    operand.special = random_.chance(10);
    lay_out(operand);
  }
  program_.operands.push_back(operand);
  Node leaf{.kind = NodeKind::operand, .type = operand.type, .shape = operand.shape, .slot = earlier};
  add(leaf);
}

int Generator::add(Node node) {
  program_.nodes.push_back(std::move(node));
  return static_cast<int>(program_.nodes.size()) - 1;
}

/// Mostly a recent node, so that programs are deep, and seldom a truth value, which says little.
int Generator::pick_node() {
  const int n = static_cast<int>(program_.nodes.size());
  int picked = 0;
  for (int attempt = 0; attempt < 4; ++attempt) {
    picked = random_.chance(65) ? n - 1 - random_.below(std::min(n, 4)) : random_.below(n);
    if (node(picked).type != DType::b1 || random_.chance(15)) break;
  }
  return picked;
}

int Generator::as_type(int from, DType type) {
  if (node(from).type == type) return from;
  if (kiln::is_complex(node(from).type) && !kiln::is_complex(type)) return as_type(real_part(from), type);
  return add({.kind = NodeKind::cast, .type = type, .shape = node(from).shape, .inputs = {from}});
}

int Generator::number(DType type) {
  if (kiln::is_complex(type)) return as_type(number(kiln::real_of(type)), type);
  Node scalar{.kind = random_.chance(50) ? NodeKind::scalar : NodeKind::literal, .type = type};
  const bool whole = !kiln::is_floating(type);
  scalar.value = type == DType::b1 ? random_.below(2)
                 : whole           ? random_.below(7)
                                   : static_cast<double>(random_.below(33) - 16) / 8;
  return add(scalar);
}

/// Clamped, wrapped, reflected, symmetric, or filled with a number.
void Generator::shift(int a, View& chosen, std::vector<int>& inputs) {
  chosen = {ViewKind::shift, {random_.below(5)}};
  for (const std::int64_t extent : node(a).shape) {
    const int most = random_.chance(80) ? 2 : static_cast<int>(3 * extent + 1);
    chosen.numbers.push_back(random_.chance(40) ? 0 : random_.below(2 * most + 1) - most);
  }
  const bool fills = chosen.numbers[0] == static_cast<std::int64_t>(kiln::detail::Beyond::fill);
  if (fills) inputs.push_back(number(node(a).type));
}

void Generator::view() {
  const int a = pick_node();
  const Shape shape = node(a).shape;
  const int rank = static_cast<int>(shape.size());
  View chosen;
  std::vector<int> inputs = {a};
  switch (random_.below(8)) {
    case 0: {
      if (rank < 2) return;
      chosen = {ViewKind::transpose, std::vector<std::int64_t>(static_cast<std::size_t>(rank))};
      std::iota(chosen.numbers.begin(), chosen.numbers.end(), 0);
      std::swap(chosen.numbers[static_cast<std::size_t>(random_.below(rank))], chosen.numbers.back());
      break;
    }
    case 1:
      if (rank == 0) return;
      chosen = {ViewKind::flip, {random_.below(rank)}};
      break;
    case 2:
      if (rank >= 5) return;
      chosen = {ViewKind::unsqueeze, {random_.below(rank + 1)}};
      break;
    case 3: {
      const auto unit = std::find(shape.begin(), shape.end(), 1);
      if (unit == shape.end()) return;
      chosen = {ViewKind::squeeze, {unit - shape.begin()}};
      break;
    }
    case 4: {
      if (rank == 0) return;
      chosen.kind = ViewKind::slice;
      for (const std::int64_t extent : shape) {
        const std::int64_t start = extent > 1 && random_.chance(30) ? 1 : 0;
        const std::int64_t step = random_.chance(20) ? 2 : 1;
        chosen.numbers.insert(chosen.numbers.end(), {kiln::detail::slice_has_start, start, 0, step});
      }
      break;
    }
    case 5:
    case 6:
      if (rank == 0) return;
      shift(a, chosen, inputs);
      break;
    default: {
      Shape wide = shape;
      if (!broadcast(wide, universe_) || count(wide) > most_elements() || wide.size() > 5) return;
      chosen = {ViewKind::broadcast_to, wide};
    }
  }
  add({.kind = NodeKind::view,
       .type = node(a).type,
       .shape = apply_view(chosen, shape).shape,
       .inputs = inputs,
       .view = chosen});
}

void Generator::outputs() {
  const int n = static_cast<int>(program_.nodes.size());
  const int wanted =
      large_ && random_.chance(50) ? 8 + random_.below(40) : random_.pick(std::vector<int>{1, 1, 1, 2, 2, 3});
  for (int i = 0; i < wanted; ++i) {
    Output output{i == 0 ? n - 1 : pick_node(), -1};
    const Node& value = node(output.node);
    for (int o = 0; o < static_cast<int>(program_.operands.size()) && random_.chance(25); ++o) {
      const Operand& operand = program_.operands[static_cast<std::size_t>(o)];
      const bool broadcasts = std::any_of(operand.views.begin(), operand.views.end(),
                                          [](const View& v) { return v.kind == ViewKind::broadcast_to; });
      Shape shape = operand.shape;
      const bool fits = broadcast(shape, value.shape) && shape == operand.shape && operand.type == value.type;
      const bool taken = std::any_of(program_.outputs.begin(), program_.outputs.end(),
                                     [](const Output& other) { return other.destination >= 0; });
      if (!broadcasts && fits && !taken) output.destination = o;
    }
    program_.outputs.push_back(output);
  }
}

void Generator::step() {
  const int kind = random_.below(100);
  if (long_ && random_.chance(45))
    reduce();
  else if (kind < 55)
    elementwise();
  else if (kind < 62)
    as_type(pick_node(), random_.pick(operand_types));
  else if (kind < 79)
    reduce();
  else if (kind < 83)
    scan();
  else if (kind < 93)
    view();
  else if (kind < 96)
    take();
  else if (kind < 97)
    one_hot();
  else if (const int a = pick_node(); !node(a).shape.empty()) {
    const int axis = random_.below(static_cast<int>(node(a).shape.size()));
    add({.kind = NodeKind::index, .type = DType::i64, .shape = node(a).shape, .inputs = {a}, .axes = {axis}});
  }
}

Program Generator::run() {
  large_ = random_.chance(2);
  long_ = !large_ && random_.below(1000) < 15;
  most_ = large_ ? max_large_elements : max_elements;
  program_.contract = !random_.chance(10);
  universe_ = universe();
  const int operands = 1 + random_.below(long_ ? 2 : 3);
  for (int i = 0; i < operands; ++i) add_operand();
  const int steps = large_  ? 50 + random_.below(300)
                    : long_ ? 2 + random_.below(6)
                            : 1 + random_.below(random_.chance(20) ? 30 : 12);
  for (int i = 0; i < steps; ++i) step();
  outputs();
  return std::move(program_);
}

Program generate(std::uint64_t seed) { return Generator(seed).run(); }

}  // namespace fuzz
