// tests/fuzz/generate_takes.cpp -- random reads by index.
#include "tests/fuzz/generator.h"

namespace fuzz {

/// Elements at i * factor + start, where i are the coordinates of some node.
void Generator::take() {
  const int a = pick_node(), b = pick_node();
  const Shape source = node(a).shape, indices = node(b).shape;
  if (source.empty() || indices.empty() || source.size() + indices.size() > 6) return;
  const int axis = random_.below(static_cast<int>(source.size()));
  const std::int64_t extent = source[static_cast<std::size_t>(axis)];
  if (extent == 0 || count(indices) * (count(source) / extent) > most_elements()) return;
  Node taken{.kind = NodeKind::take, .type = node(a).type, .axes = {axis}, .mode = random_.below(3)};
  taken.shape = source;
  taken.shape.erase(taken.shape.begin() + axis);
  taken.shape.insert(taken.shape.begin() + axis, indices.begin(), indices.end());
  const int along = random_.below(static_cast<int>(indices.size()));
  const auto number = [&](std::int64_t value) {
    return add({.kind = NodeKind::literal, .type = DType::i64, .value = static_cast<double>(value)});
  };
  const auto joined = [&](Op op, int x, int y) {
    return add({.kind = NodeKind::operation, .type = DType::i64, .shape = indices, .inputs = {x, y}, .op = op});
  };
  int at = add({.kind = NodeKind::index, .type = DType::i64, .shape = indices, .inputs = {b}, .axes = {along}});
  at = joined(Op::mul, at, number(random_.pick(std::vector<int>{1, 1, 3, 7, 0})));
  at = joined(Op::add, at, number(random_.below(5)));
  if (taken.mode == 0) at = joined(Op::mod, at, number(extent));
  if (random_.chance(40)) at = joined(Op::sub, at, number(extent));
  taken.inputs = {a, at};
  add(taken);
}

/// kl::one_hot as it is recorded: positions beside an index with one axis more.
void Generator::one_hot() {
  const int a = pick_node();
  const Shape shape = node(a).shape;
  const std::int64_t extent = 1 + random_.below(9);
  if (shape.size() > 4 || count(shape) * extent > most_elements()) return;
  const DType type = kiln::is_integer(node(a).type) && node(a).type != DType::u64 ? node(a).type : DType::i64;
  int at = as_type(as_type(a, type), DType::i64);
  Shape wide = shape;
  wide.push_back(1);
  at = add({.kind = NodeKind::view,
            .type = DType::i64,
            .shape = wide,
            .inputs = {at},
            .view = {ViewKind::unsqueeze, {static_cast<std::int64_t>(shape.size())}}});
  const int zero = add({.kind = NodeKind::literal, .type = DType::i64});
  const int zeros = add({.kind = NodeKind::view,
                         .type = DType::i64,
                         .shape = {extent},
                         .inputs = {zero},
                         .view = {ViewKind::broadcast_to, {extent}}});
  const int along =
      add({.kind = NodeKind::index, .type = DType::i64, .shape = {extent}, .inputs = {zeros}, .axes = {0}});
  wide.back() = extent;
  const int is_here =
      add({.kind = NodeKind::operation, .type = DType::b1, .shape = wide, .inputs = {at, along}, .op = Op::eq});
  as_type(is_here, random_.pick(std::vector<DType>{DType::f32, DType::i32, DType::bf16, DType::u8}));
}

}  // namespace fuzz
