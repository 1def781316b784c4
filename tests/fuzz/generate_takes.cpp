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
  if (extent == 0 || count(indices) * (count(source) / extent) > max_elements) return;
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

}  // namespace fuzz
