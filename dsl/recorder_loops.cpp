// dsl/recorder_loops.cpp -- functions written for one item and applied to many: axes are counted within the item.
#include <algorithm>
#include <array>
#include <vector>

#include <kiln/detail/loops.h>

#include "dsl/infer.h"
#include "dsl/recorder.h"
#include "dsl/shapes.h"
#include "support/check.h"

namespace kiln::detail {
namespace {

using Numbers = std::vector<std::int64_t>;

/// The axes first, first + 1, ...: new ones, as unsqueeze numbers them.
Numbers consecutive(int first, int count) {
  Numbers numbers;
  for (int axis = 0; axis < count; ++axis) numbers.push_back(first + axis);
  return numbers;
}

}  // namespace

int Recorder::enter_loops(NodeId* values, const int* item_ranks, unsigned count, Where where) {
  int loops = 0;
  for (unsigned i = 0; i < count; ++i) {
    check_node(values[i], "gufunc", where);
    const int own = item_rank(values[i]) - item_ranks[i];
    if (own < 0) {
      fail<ShapeError>("kl::gufunc: an argument has {} axes, but its part of the signature names {}{}",
                       item_rank(values[i]), item_ranks[i], dsl::place(dsl::where_of(graph_, values[i])));
    }
    loops = std::max(loops, own);
  }
  for (unsigned i = 0; i < count; ++i) {
    const int missing = loops - (item_rank(values[i]) - item_ranks[i]);
    values[i] = with_loops(values[i], where);
    if (missing == 0) continue;
    const Numbers front = consecutive(loop_rank_, missing);
    values[i] =
        view(values[i], static_cast<int>(ViewKind::unsqueeze), front.data(), static_cast<unsigned>(missing), where);
  }
  return loops;
}

/// A value without axes takes part in every item; here it gets the axes of the loop, of extent 1.
NodeId Recorder::with_loops(NodeId value, Where where) {
  if (loop_rank_ == 0 || ranks_[value] >= loop_rank_) return value;
  if (graph_[value].kind == codegen::NodeKind::tuple) {
    const codegen::Node values = graph_[value];
    std::array<NodeId, 3> each{};
    for (unsigned i = 0; i < values.arity; ++i) each[i] = with_loops(values.operands[i], where);
    return tuple(each.data(), values.arity, where);
  }
  const Numbers front = consecutive(0, loop_rank_ - ranks_[value]);
  return view(value, static_cast<int>(ViewKind::unsqueeze), front.data(), static_cast<unsigned>(front.size()), where);
}

/// Items broadcast by their last axes, whatever the loop: new axes go between the loop's and the item's.
void Recorder::align(NodeId* operands, unsigned count, Where where) {
  if (loop_rank_ == 0) return;
  int rank = 0;
  for (unsigned i = 0; i < count; ++i) rank = std::max(rank, ranks_[operands[i]]);
  for (unsigned i = 0; i < count; ++i) {
    const int missing = rank - ranks_[operands[i]];
    if (ranks_[operands[i]] == 0 || missing == 0) continue;
    const Numbers axes = consecutive(loop_rank_, missing);
    operands[i] =
        view(operands[i], static_cast<int>(ViewKind::unsqueeze), axes.data(), static_cast<unsigned>(missing), where);
  }
}

/// `count` new axes of extent 1 from `first` on.
NodeId Recorder::with_axes(NodeId value, int first, int count, Where where) {
  if (count == 0) return value;
  const Numbers axes = consecutive(first, count);
  return view(value, static_cast<int>(ViewKind::unsqueeze), axes.data(), static_cast<unsigned>(count), where);
}

NodeId Recorder::item_index(NodeId value, int axis, Where where) {
  if (loop_rank_ == 0) return index(value, axis, where);
  check_node(value, "index", where);
  const int rank = item_rank(value);
  if (axis < -rank || axis >= rank) {
    fail<ShapeError>("kl::index: axis {} does not exist in an item of rank {}{}", axis, rank, dsl::place(where));
  }
  return index(value, (axis < 0 ? axis + rank : axis) + loop_rank_, where);
}

NodeId Recorder::item_extent(NodeId value, int axis, Where where) {
  check_node(value, "shape", where);
  value = with_loops(value, where);
  const int rank = item_rank(value);
  codegen::ReductionSpec spec;
  if (axis == all_axes) {
    spec.axes = static_cast<std::uint8_t>(((1u << rank) - 1) << loop_rank_);
    if (rank == 0) return literal(DType::i64, 1, 0, where);
  } else if (axis < -rank || axis >= rank) {
    fail<ShapeError>("shape()[{}] of a value of rank {}{}: {}", axis, rank, dsl::place(where),
                     rank == 0 ? "it has no axes" : fmt::format("use {} to {}", -rank, rank - 1));
  } else {
    spec.axes = static_cast<std::uint8_t>(1u << ((axis < 0 ? axis + rank : axis) + loop_rank_));
  }
  return known(graph_.extent(value, DType::i64, spec, {where.file, where.line}), 0);
}

NodeId Recorder::item_view(NodeId value, int kind, const std::int64_t* numbers, unsigned count, Where where,
                           const NodeId* fill) {
  if (loop_rank_ == 0) return view(value, kind, numbers, count, where, fill);
  check_node(value, "view", where);
  if (static_cast<ViewKind>(kind) == ViewKind::broadcast_to && ranks_[value] == 0)  // one item for all
    return with_axes(view(value, kind, numbers, count, where), 0, loop_rank_, where);
  value = with_loops(value, where);
  const int rank = item_rank(value);
  Numbers moved;
  switch (static_cast<ViewKind>(kind)) {
    case ViewKind::reshape:
    case ViewKind::broadcast_to:
      fail<ShapeError>(
          "{} inside a kl::gufunc{}: the axes of the loop around an item have no known extents here; use unsqueeze, "
          "slices or broadcasting",
          static_cast<ViewKind>(kind) == ViewKind::reshape ? "reshape" : "broadcast_to", dsl::place(where));
    case ViewKind::slice:
      for (int axis = 0; axis < loop_rank_; ++axis) moved.insert(moved.end(), {0, 0, 0, 1});
      moved.insert(moved.end(), numbers, numbers + count);
      break;
    case ViewKind::shift:
      moved.assign(numbers, numbers + 1);  // the boundary; nothing moves along the axes of the loop
      moved.insert(moved.end(), static_cast<std::size_t>(loop_rank_), 0);
      moved.insert(moved.end(), numbers + 1, numbers + count);
      return view(value, kind, moved.data(), static_cast<unsigned>(moved.size()), where, fill);
    case ViewKind::transpose:
      moved = consecutive(0, loop_rank_);
      for (int axis = rank; count == 0 && axis-- > 0;) moved.push_back(axis + loop_rank_);
      [[fallthrough]];
    case ViewKind::squeeze:
    case ViewKind::unsqueeze:
    case ViewKind::flip:
      for (unsigned i = 0; i < count; ++i) moved.push_back(numbers[i] < 0 ? numbers[i] : numbers[i] + loop_rank_);
      for (int axis = 0; static_cast<ViewKind>(kind) == ViewKind::flip && count == 0 && axis < rank; ++axis)
        moved.push_back(axis + loop_rank_);
      break;
  }
  const bool adds = static_cast<ViewKind>(kind) == ViewKind::unsqueeze;
  const int bound = adds ? rank + static_cast<int>(count) : rank;
  for (unsigned i = 0; i < count && static_cast<ViewKind>(kind) != ViewKind::slice; ++i) {
    if (numbers[i] >= -bound && numbers[i] < bound) continue;
    fail<ShapeError>("axis {} does not exist in an item of rank {}{}; use {} to {}", numbers[i], rank,
                     dsl::place(where), -bound, bound - 1);
  }
  if (moved.empty()) return value;  // a flip of no axes
  return view(value, kind, moved.data(), static_cast<unsigned>(moved.size()), where);
}

// ------------------------------------------------------------------ bridge
int enter_loops(Recorder& r, NodeId* values, const int* item_ranks, unsigned count, Where where) {
  const int before = r.loop_rank();
  r.set_loop_rank(before + r.enter_loops(values, item_ranks, count, where));
  return before;
}
NodeId record_extent(Recorder& r, NodeId value, int axis, Where where) { return r.item_extent(value, axis, where); }
void leave_loops(Recorder& r, int before) noexcept { r.set_loop_rank(before); }

void check_item_rank(Recorder& r, NodeId value, int item_rank, unsigned output, const char* signature) {
  if (r.item_rank(value) == item_rank) return;
  fail<ShapeError>("kl::gufunc<\"{}\">: result {} of the function has {} axes per item, the signature says {}{}",
                   signature, output, r.item_rank(value), item_rank, dsl::place(dsl::where_of(r.graph(), value)));
}

void check_core_axes(const CoreSignature& signature, const int* ranks, const std::int64_t* shapes, Where where) {
  struct Seen {
    std::int64_t extent = -1;
    int operand = 0;
  };
  std::array<Seen, CoreSignature::most_letters> seen;
  const auto operand_name = [&](int operand) {
    return operand < signature.inputs ? fmt::format("argument {}", operand)
                                      : fmt::format("result {}", operand - signature.inputs);
  };
  for (int operand = 0; operand < signature.inputs + signature.outputs; ++operand) {
    const int core = signature.ranks[operand], first = ranks[operand] - core;
    if (ranks[operand] < 0) continue;
    const std::int64_t* const shape = shapes + operand * max_rank;
    const auto shape_text = [&] { return dsl::to_text({shape, static_cast<std::size_t>(ranks[operand])}); };
    if (first < 0) {
      fail<ShapeError>(
          "kl::gufunc<\"{}\">: {} of shape {} has fewer axes than the {} that its part of the signature "
          "names{}",
          signature.text, operand_name(operand), shape_text(), core, dsl::place(where));
    }
    for (int axis = 0; axis < core; ++axis) {
      const std::int64_t name = signature.axes[operand][axis], extent = shape[first + axis];
      if (name < 0) {
        if (extent == -1 - name) continue;
        fail<ShapeError>(
            "kl::gufunc<\"{}\">: {} of shape {} has {} elements along an axis that the signature fixes to "
            "{}{}",
            signature.text, operand_name(operand), shape_text(), extent, -1 - name, dsl::place(where));
      }
      Seen& known = seen[static_cast<std::size_t>(name)];
      if (known.extent < 0) known = {extent, operand};
      if (known.extent == extent) continue;
      const std::string_view letter(signature.text + signature.name_at[name],
                                    static_cast<std::size_t>(signature.name_size[name]));
      fail<ShapeError>(
          "kl::gufunc<\"{}\">: axis {} has {} elements in {} and {} in {} of shape {}{}; axes of one letter "
          "must have one extent",
          signature.text, letter, known.extent, operand_name(known.operand), extent, operand_name(operand),
          shape_text(), dsl::place(where));
    }
  }
}

}  // namespace kiln::detail
