// dsl/drafting_gathers.cpp -- the memory that a kernel finds by index: its alignment and the bytes it moves.
#include <algorithm>

#include "codegen/schedule/scatter.h"
#include "dsl/drafting.h"
#include "support/check.h"

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
    if (node.kind == NodeKind::reduce)
      axes[id] &= static_cast<std::uint8_t>((1 << (nest.shape.rank - nest.reduced)) - 1);
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

/// The first store scatters, to the places that the second output gives.
void Drafting::mark_scatter(DraftKernel& draft) const {
  codegen::Kernel& kernel = draft.kernel;
  const std::size_t store = kernel.first_store();
  KILN_INTERNAL_CHECK(kernel.accesses.size() == store + 2, "a scatter has {} outputs", kernel.accesses.size() - store);
  kernel.accesses[store].scatter = call_.scatter->operation == detail::Scattering::add ? codegen::Scatter::add
                                   : call_.scatter->operation == detail::Scattering::maximum
                                       ? codegen::Scatter::maximum
                                       : codegen::Scatter::minimum;
  kernel.accesses[store + 1].places = true;
  const detail::Layout& layout = *destinations_[0].layout;
  std::int64_t elements = 1;
  for (const std::int64_t extent : draft.nest.shape.span()) elements *= extent;
  if (!layout.contiguous || !codegen::wants_bins(kernel, elements, layout.size)) return;
  kernel.bins_parameter = static_cast<int>(draft.parameters.size());
  draft.parameters.push_back({0, DType::i64, true, layout.size});
  kernel.parameters.push_back(DType::i64);
  draft.extents.bins = layout.size;
}

}  // namespace kiln::dsl
