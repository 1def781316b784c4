// dsl/windows.cpp -- groups the loads of a kernel by memory and steps, and splits their distances into displacements.
#include "dsl/windows.h"

#include <algorithm>
#include <optional>

#include "codegen/schedule/schedule.h"
#include "dsl/call_key.h"

namespace kiln::dsl {
namespace {

using codegen::Fold;

using Places = std::array<std::int64_t, max_rank>;

struct Group {
  std::vector<std::size_t> members;  ///< accesses, the leader first
  std::vector<Places> at;            ///< of each, from the leader
  AxisFolds folds;                   ///< of the leader's place, for axes along which some member is folded
};

bool may_share(const DraftKernel& draft, std::size_t a) {
  const codegen::Access& access = draft.kernel.accesses[a];
  const LoopNest::Walk& walk = draft.nest.walks[a];
  const int inner = draft.nest.shape.rank - 1;
  if (access.iota || access.store || access.gathered || is_complex(access.type) || walk.strides[inner] != 1)
    return false;
  return std::all_of(walk.folds.begin(), walk.folds.end(),
                     [](const AxisFold& fold) { return !fold.is_active() || fold.step == 1; });
}

/// Takes access `a` into `group` if all its members can be read with the same folds.
bool join(const DraftKernel& draft, std::span<const AccessMemory> memories, Group& group, std::size_t a) {
  const LoopNest& nest = draft.nest;
  const std::size_t leader = group.members.front();
  const LoopNest::Walk &first = nest.walks[leader], &walk = nest.walks[a];
  if (memories[a].memory != memories[leader].memory ||
      draft.kernel.accesses[a].type != draft.kernel.accesses[leader].type)
    return false;
  if (draft.kernel.accesses[a].aliased || draft.kernel.accesses[leader].aliased) return false;
  if (walk.strides != first.strides) return false;
  const auto bytes = static_cast<std::int64_t>(memories[a].address - memories[leader].address);
  const std::int64_t distance = bytes / static_cast<std::int64_t>(size_of(draft.kernel.accesses[a].type));
  const std::optional<Places> at = neighbouring(distance, first.strides.data(), nest.shape.rank);
  if (!at) return false;
  AxisFolds folds = group.folds;
  const auto stays_inside = [&](const AxisFold& fold, std::int64_t place, int axis) {
    const std::int64_t start = fold.start + place;
    return start >= 0 && start + nest.shape.extents[axis] <= fold.length;
  };
  for (int axis = 0; axis < nest.shape.rank; ++axis) {
    const AxisFold& fold = walk.folds[axis];
    AxisFold& common = folds[axis];
    if (!fold.is_active()) {
      if (common.is_active() && !stays_inside(common, (*at)[axis], axis)) return false;
    } else if (common.is_active()) {
      if (fold.kind != common.kind || fold.length != common.length || fold.start != common.start + (*at)[axis])
        return false;
    } else {
      common = fold;
      common.start -= (*at)[axis];
      for (const Places& member : group.at)
        if (!stays_inside(common, member[axis], axis)) return false;
    }
  }
  group.members.push_back(a);
  group.at.push_back(*at);
  group.folds = folds;
  return true;
}

std::vector<Group> groups_of(const DraftKernel& draft, std::span<const AccessMemory> memories) {
  std::vector<Group> groups;
  for (std::size_t a = 0; a < draft.kernel.first_store(); ++a) {
    if (!may_share(draft, a)) continue;
    const bool joined =
        std::any_of(groups.begin(), groups.end(), [&](Group& group) { return join(draft, memories, group, a); });
    if (!joined) groups.push_back({{a}, {Places{}}, draft.nest.walks[a].folds});
  }
  std::erase_if(groups, [](const Group& group) { return group.members.size() < 2 && !any_active(group.folds); });
  return groups;
}

void mark(DraftKernel& draft, const Group& group) {
  const int rank = draft.nest.shape.rank;
  for (std::size_t m = 0; m < group.members.size(); ++m) {
    const std::size_t a = group.members[m];
    codegen::Access& access = draft.kernel.accesses[a];
    access.window = static_cast<int>(group.members.front());
    access.displacement.clear();
    for (int axis = 0; axis < rank; ++axis) {
      access.displacement.push_back(static_cast<std::int8_t>(group.at[m][axis]));
      AxisFold& fold = draft.nest.walks[a].folds[axis];
      fold = group.folds[axis];
      fold.start += group.at[m][axis];
      if (!fold.is_active()) fold = {};
    }
    access.folds = folded_axes(draft.nest, a);
  }
}

/// Alignment of rows: the steps that lead from one to another, and where the first one starts.
void mark_rows(DraftKernel& draft, std::size_t a, std::uint64_t address) {
  const LoopNest& nest = draft.nest;
  codegen::Access& access = draft.kernel.accesses[a];
  if (access.iota || nest.walks[a].step(nest.shape.rank - 1) != 1) return;
  const std::uint64_t bytes = size_of(access.type);
  std::uint64_t bits = 16;
  for (int axis = 0; axis + 1 < nest.shape.rank; ++axis)
    bits |= static_cast<std::uint64_t>(nest.walks[a].step(axis)) * bytes;
  access.row_alignment = static_cast<std::uint8_t>(std::max(bits & (~bits + 1), bytes));
  access.phase = static_cast<std::uint8_t>(address % access.row_alignment / bytes);
}

std::int64_t bytes_of(const DraftKernel& draft, std::size_t a) {
  auto bytes = static_cast<std::int64_t>(size_of(draft.kernel.accesses[a].type));
  for (int axis = 0; axis < draft.nest.shape.rank; ++axis)
    if (draft.nest.walks[a].strides[axis] != 0) bytes *= draft.nest.shape.extents[axis];
  return bytes;
}

}  // namespace

void find_windows(DraftKernel& draft, std::span<const AccessMemory> memories, bool marks) {
  const LoopNest& nest = draft.nest;
  if (nest.shape.rank == 0) return;
  const std::vector<Group> groups = groups_of(draft, memories);
  draft.is_shared.assign(nest.walks.size(), 0);
  for (const Group& group : groups) {
    for (const std::size_t a : group.members) draft.is_shared[a] = a != group.members.front();
    draft.bytes_moved -= static_cast<std::int64_t>(group.members.size() - 1) * bytes_of(draft, group.members.front());
  }
  if (groups.empty() || !marks) return;
  const std::vector<codegen::Access> accesses = draft.kernel.accesses;
  const std::vector<LoopNest::Walk> walks = nest.walks;
  for (const Group& group : groups) mark(draft, group);
  for (std::size_t a = 0; a < accesses.size(); ++a) mark_rows(draft, a, memories[a].address);
  if (codegen::window_fits(draft.kernel, draft.extents)) return;
  draft.kernel.accesses = accesses;
  draft.nest.walks = walks;
}

}  // namespace kiln::dsl
