// dsl/recorder_takes.cpp -- records takes, whose axes and types are known while the user's expression runs.
#include <algorithm>

#include "dsl/recorder.h"
#include "dsl/shapes.h"
#include "support/check.h"

namespace kiln::detail {

NodeId Recorder::take(const TakeCall& call, NodeId source, NodeId indices, Where where) {
  using Mode = codegen::TakeSpec;
  const bool along = (call.flags & TakeCall::along) != 0;
  const char* name = along ? "take_along_axis" : "take";
  check_node(source, name, where);
  check_node(indices, name, where);
  if (!is_integer(graph_[indices].type))
    fail<TypeError>("kl::{} takes integer indices, not {}{}", name, name_of(graph_[indices].type), dsl::place(where));
  if ((call.flags & TakeCall::flat) != 0 && ranks_[source] != 1) {
    const std::int64_t all = -1;
    source = view(source, static_cast<int>(ViewKind::reshape), &all, 1, where);
  }
  const int rank = ranks_[source];
  if (call.axis < -rank || call.axis >= rank) {
    fail<ShapeError>("kl::{}: axis {} does not exist in a source of {} axes{}; {}", name, call.axis, rank,
                     dsl::place(where),
                     rank == 0 ? "leave the axis out" : fmt::format("use {} to {}", -rank, rank - 1));
  }
  if (along && ranks_[indices] != rank) {
    fail<ShapeError>("kl::take_along_axis: indices of {} axes and a source of {}{}; they need as many", ranks_[indices],
                     rank, dsl::place(where));
  }
  const int result = along ? rank : rank - 1 + ranks_[indices];
  if (result > max_rank) {
    fail<ShapeError>("kl::take from {} axes by indices of {}{} has {} axes; 0 to {} are possible", rank,
                     ranks_[indices], dsl::place(where), result, max_rank);
  }
  Mode spec;
  spec.axis = static_cast<std::uint8_t>(call.axis < 0 ? call.axis + rank : call.axis);
  spec.along = along;
  spec.mode = (call.flags & TakeCall::clip) != 0   ? Mode::clip
              : (call.flags & TakeCall::wrap) != 0 ? Mode::wrap
                                                   : Mode::missing;
  codegen::Node node{.kind = codegen::NodeKind::take, .type = graph_[source].type, .arity = 2};
  node.operands = {source, indices, codegen::no_node};
  node.payload = spec.payload();
  return add(node, result, where);
}

/// Inside a loop every item takes its own elements: source and indices get as many axes, so that they are taken along
/// one of them while the loop's go side by side.
NodeId Recorder::item_take(const TakeCall& call, NodeId source, NodeId indices, Where where) {
  if (loop_rank_ == 0) return take(call, source, indices, where);
  const bool along = (call.flags & TakeCall::along) != 0, flat = (call.flags & TakeCall::flat) != 0;
  const char* name = along ? "take_along_axis" : "take";
  check_node(source, name, where);
  check_node(indices, name, where);
  source = with_loops(source, where), indices = with_loops(indices, where);
  const int rank = item_rank(source), count = item_rank(indices);
  if (flat && rank != 1) {
    fail<ShapeError>("kl::take without an axis from an item of {} axes inside a kl::gufunc{}: name the axis", rank,
                     dsl::place(where));
  }
  if (call.axis < -rank || call.axis >= rank) {
    fail<ShapeError>("kl::{}: axis {} does not exist in an item of {} axes{}", name, call.axis, rank,
                     dsl::place(where));
  }
  if (along && count != rank) {
    fail<ShapeError>("kl::take_along_axis: indices of {} axes and an item of {}{}; they need as many", count, rank,
                     dsl::place(where));
  }
  const int axis = static_cast<int>(call.axis < 0 ? call.axis + rank : call.axis) + loop_rank_;
  const std::uint64_t mode = call.flags & (TakeCall::clip | TakeCall::wrap);
  if (along) return take({mode | TakeCall::along, axis}, source, indices, where);
  if (loop_rank_ + rank - 1 + count > max_rank) {
    fail<ShapeError>(
        "kl::take inside a kl::gufunc{}: a result of {} axes, {} of them of the loop; 0 to {} are possible",
        dsl::place(where), loop_rank_ + rank - 1 + count, loop_rank_, max_rank);
  }
  const int taken = std::max(count, 1);  // axes that replace the one taken from; a single index has one for a while
  if (taken > 1) source = with_axes(source, axis, taken - 1, where);
  const int behind = loop_rank_ + rank - 1 - axis;
  indices = with_axes(indices, loop_rank_ + count, behind + taken - count, where);
  indices = with_axes(indices, loop_rank_, axis - loop_rank_, where);
  const NodeId result = take({mode | TakeCall::along, axis + taken - 1}, source, indices, where);
  if (count > 0) return result;
  const std::int64_t dropped = axis;
  return view(result, static_cast<int>(ViewKind::squeeze), &dropped, 1, where);
}

NodeId record_take(Recorder& r, const TakeCall& call, NodeId source, NodeId indices, Where where) {
  return r.item_take(call, source, indices, where);
}

}  // namespace kiln::detail
