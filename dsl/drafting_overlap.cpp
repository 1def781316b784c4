// dsl/drafting_overlap.cpp -- the right side behaves as if complete before the first write, whatever overlaps.
//
// A destination that a kernel reads at the same place that it writes is computed directly. Any other overlap sends the
// result through a temporary that is copied when every kernel of the call has run.
#include <fmt/format.h>

#include "dsl/drafting.h"
#include "dsl/layouts.h"

namespace kiln::dsl {

ByteSet Drafting::leaf_bytes(const Leaf& leaf) const {
  const auto bytes = static_cast<std::int64_t>(size_of(leaf.type));
  const auto data = reinterpret_cast<std::uint64_t>(call_.inputs[leaf.slot].data);
  return {data + static_cast<std::uint64_t>(leaf.view.offset * bytes), bytes, leaf.view};
}

ByteSet Drafting::target_bytes(std::uint32_t target, const Shape& loop) const {
  const Destination& destination = destinations_[target];
  const auto bytes = static_cast<std::int64_t>(size_of(destination.layout->dtype));
  return {destination.address, bytes, broadcast_to("assignment", destination.view, loop, call_.where)};
}

/// Does writing `target` directly change something that is read later than it should be, or written twice?
bool Drafting::conflicts(std::uint32_t target, std::size_t own_group) const {
  const ByteSet written = target_bytes(target, groups_[own_group].loop);
  for (std::size_t g = own_group; g < groups_.size(); ++g) {
    for (const Leaf& leaf : groups_[g].body.leaves) {
      if (leaf.iota) continue;
      const ByteSet read = leaf_bytes(leaf);
      if (g == own_group && same_elements(read, written)) continue;
      if (may_overlap(read, written)) return true;
    }
  }
  for (std::uint32_t other = 0; other < target; ++other) {
    const Destination& earlier = destinations_[other];
    if (earlier.allocate || earlier.is_empty()) continue;
    if (may_overlap(target_bytes(other, loops_[other]), written)) return true;
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
  for (const Leaf& leaf : group.body.leaves) {
    bool aliased = false;
    for (const std::uint32_t target : group.targets) {
      const Destination& destination = destinations_[target];
      if (leaf.iota || destination.allocate || destination.temporary) continue;
      aliased = aliased || same_elements(leaf_bytes(leaf), target_bytes(target, group.loop));
    }
    group.aliased.push_back(aliased);
  }
}

void Drafting::resolve_overlaps() {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (const std::uint32_t target : groups_[g].targets) {
      const Destination& destination = destinations_[target];
      if (destination.allocate || destination.is_empty() || !conflicts(target, g)) continue;
      use_temporary(target, "its destination overlaps an operand or another result");
    }
  }
  for (Group& group : groups_) mark_aliases(group);
}

}  // namespace kiln::dsl
