// dsl/drafting_overlap.cpp -- the right side behaves as if complete before the first write, whatever overlaps.
//
// A destination that a kernel reads at the same place that it writes is computed directly. Any other overlap sends the
// result through a temporary that is copied when every kernel of the call has run.
//
// A kernel with reduced axes reads a row completely before it writes the row's elements, so elements may be replaced
// where they are. One value per row, however, is read by threads that nothing keeps from reading it after it was
// written: what one thread stores per row overlaps nothing that the kernel reads.
#include <algorithm>

#include <fmt/format.h>

#include "dsl/drafting.h"
#include "dsl/layouts.h"

namespace kiln::dsl {

Strided over_loop(const Strided& target, const SegmentOutput& output, const Shape& loop) {
  const Strided view = *reshape(target, output.shape.span(), {});  // splits axes: never needs a copy
  Strided result = constant(loop);
  result.offset = view.offset;
  for (int axis = 0; axis < view.shape.rank; ++axis) {
    const int along = output.axes[static_cast<std::size_t>(axis)];
    if (along >= 0 && loop.extents[along] > 1) result.strides[along] = view.strides[axis];
  }
  return result;
}

bool moves_along_rows(const Strided& view, int reduced) {
  const auto end = view.strides.begin() + view.shape.rank;
  return std::any_of(end - reduced, end, [](std::int64_t stride) { return stride != 0; });
}

ByteSet Drafting::leaf_bytes(const Leaf& leaf) const {
  const auto bytes = static_cast<std::int64_t>(size_of(leaf.type));
  const auto data = reinterpret_cast<std::uint64_t>(call_.inputs[leaf.slot].data);
  if (leaf.gathered) return {data + static_cast<std::uint64_t>(leaf.whole.offset * bytes), bytes, leaf.whole};
  const Strided view = reached(leaf.view, leaf.folds);
  return {data + static_cast<std::uint64_t>(view.offset * bytes), bytes, view};
}

ByteSet Drafting::target_bytes(std::uint32_t target) const {
  const Destination& destination = destinations_[target];
  return {destination.address, static_cast<std::int64_t>(size_of(destination.layout->dtype)), destination.view};
}

ByteSet Drafting::target_bytes(const SegmentOutput& output, const Segment& segment) const {
  ByteSet bytes = target_bytes(output.number);
  bytes.view = over_loop(bytes.view, output, segment.loop);
  return bytes;
}

namespace {

bool is_operand(const Leaf& leaf) { return !leaf.iota && leaf.temporary < 0; }

/// May the kernel of `segment` replace what it reads by what it writes?
bool replaces_in_place(const ByteSet& read, const ByteSet& written, const Segment& segment) {
  return same_elements(read, written) && (segment.reduced == 0 || moves_along_rows(written.view, segment.reduced));
}

}  // namespace

/// Does writing the target of `output` directly change something that is read later than it should be, or written
/// twice?
bool Drafting::conflicts(const SegmentOutput& output, std::size_t own_group) const {
  const ByteSet written = target_bytes(output, groups_[own_group].segment);
  for (std::size_t g = own_group; g < groups_.size(); ++g) {
    const Segment& segment = groups_[g].segment;
    for (const Leaf& leaf : segment.body.leaves) {
      if (!is_operand(leaf)) continue;
      const ByteSet read = leaf_bytes(leaf);
      const bool is_displaced = leaf.gathered || leaf.is_folded();
      if (g == own_group && !is_displaced && replaces_in_place(read, written, segment)) continue;
      if (may_overlap(read, written)) return true;
    }
  }
  for (std::uint32_t other = 0; other < output.number; ++other) {
    const Destination& earlier = destinations_[other];
    if (earlier.allocate || earlier.is_empty()) continue;
    if (may_overlap(target_bytes(other), target_bytes(output.number))) return true;
  }
  return false;
}

void Drafting::use_temporary(std::uint32_t target, const char* reason) {
  Destination& destination = destinations_[target];
  destination.temporary = static_cast<std::uint32_t>(draft_.temporaries.size());
  const detail::Layout& layout = *destination.layout;
  draft_.temporaries.push_back(static_cast<std::uint64_t>(layout.size) * size_of(layout.dtype));
  draft_.notes.push_back(
      fmt::format("result {} goes through a temporary of {} bytes: {}", target, draft_.temporaries.back(), reason));
}

void Drafting::mark_aliases(Group& group) {
  for (const Leaf& leaf : group.segment.body.leaves) {
    bool aliased = false;
    for (const SegmentOutput& output : group.segment.outputs) {
      if (!is_operand(leaf) || leaf.gathered || leaf.is_folded() || output.is_temporary) continue;
      const Destination& destination = destinations_[output.number];
      if (destination.allocate || destination.temporary) continue;
      aliased = aliased || same_elements(leaf_bytes(leaf), target_bytes(output, group.segment));
    }
    group.aliased.push_back(aliased);
  }
}

void Drafting::resolve_overlaps() {
  if (call_.scatter) {  // kl::scatter has copied operands that overlap
    for (Group& group : groups_) group.aliased.assign(group.segment.body.leaves.size(), false);
    return;
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (const SegmentOutput& output : groups_[g].segment.outputs) {
      if (output.is_temporary) continue;
      const Destination& destination = destinations_[output.number];
      if (destination.allocate || destination.is_empty() || !conflicts(output, g)) continue;
      use_temporary(output.number, "its destination overlaps an operand or another result");
    }
  }
  for (Group& group : groups_) mark_aliases(group);
}

}  // namespace kiln::dsl
