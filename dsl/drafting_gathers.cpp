// dsl/drafting_gathers.cpp -- the memory that a kernel finds by index: its alignment and the bytes it moves.
#include <algorithm>

#include "dsl/drafting.h"

namespace kiln::dsl {

using codegen::NodeId;
using codegen::NodeKind;

namespace {

/// Loop axes along which each node changes, as bits.
std::vector<std::uint8_t> axes_of_nodes(const Body& body, const LoopNest& nest) {
  std::vector<std::uint8_t> axes(body.graph.size(), 0);
  for (NodeId id = 0; id < body.graph.size(); ++id) {
    const codegen::Node& node = body.graph[id];
    for (const NodeId operand : node.inputs()) axes[id] |= axes[operand];
    if (node.kind == NodeKind::reduce) axes[id] &= static_cast<std::uint8_t>((1 << (nest.shape.rank - nest.reduced)) - 1);
    if (node.kind != NodeKind::load && node.kind != NodeKind::iota) continue;
    for (int axis = 0; axis < nest.shape.rank; ++axis)
      if (nest.walks[node.payload].strides[axis] != 0) axes[id] |= static_cast<std::uint8_t>(1 << axis);
  }
  return axes;
}

}  // namespace

void align_gathering_iotas(codegen::Kernel& kernel) {
  for (codegen::Access& access : kernel.accesses)
    if (access.gathers > 0) access.alignment = 16;
  for (const codegen::Node& node : kernel.body.nodes()) {
    if (node.kind != NodeKind::gather) continue;
    const codegen::Node& affine = kernel.body[node.operands[codegen::gather_affine]];
    if (affine.kind != NodeKind::iota) continue;
    codegen::Access& iota = kernel.accesses[affine.payload];
    iota.alignment = std::min(iota.alignment, kernel.accesses[node.payload].alignment);
  }
}

/// Completes the access: what divides every place at which a vector along the contiguous axis of an iota may start.
codegen::Access Drafting::gathered_access(const Body& body, DraftKernel& draft, std::size_t number,
                                          codegen::Access access, std::uint64_t address) const {
  const auto bytes = static_cast<std::int64_t>(size_of(access.type));
  const std::vector<std::uint8_t> axes = axes_of_nodes(body, draft.nest);
  std::uint64_t bits = address | 16 | static_cast<std::uint64_t>(body.leaves[number].step * bytes);
  for (NodeId id = 0; id < body.graph.size(); ++id) {
    const codegen::Node& node = body.graph[id];
    if (node.kind != NodeKind::gather || node.payload != number) continue;
    std::int64_t elements = 1;
    for (int axis = 0; axis < draft.nest.shape.rank; ++axis)
      if ((axes[id] >> axis & 1) != 0) elements *= draft.nest.shape.extents[axis];
    draft.bytes_moved += elements * bytes;
    draft.gathered_bytes[number] += elements * bytes;
    const codegen::Node& affine = body.graph[node.operands[codegen::gather_affine]];
    if (affine.kind != NodeKind::iota) continue;
    const LoopNest::Walk& walk = draft.nest.walks[affine.payload];
    bits |= static_cast<std::uint64_t>(walk.offset * bytes);
    for (int axis = 0; axis < draft.nest.shape.rank; ++axis)
      if (walk.strides[axis] != 1) bits |= static_cast<std::uint64_t>(walk.strides[axis] * bytes);
  }
  access.alignment = static_cast<std::uint8_t>(bits & (~bits + 1));
  return access;
}

}  // namespace kiln::dsl
