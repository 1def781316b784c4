// codegen/schedule/candidates.h -- other schedules of a kernel that a tuner may measure instead of the heuristic one.
#pragma once

#include <string>
#include <vector>

#include "codegen/schedule/schedule.h"

namespace kiln::codegen {

struct Candidate {
  Schedule schedule;
  std::string name;       ///< what tells it from others of the kernel: "block=128 vector=4 ...", kept in records
  bool same_bits = true;  ///< it joins elements in the same order as the heuristic schedule
};

/// The heuristic schedule first, then at most `most` - 1 others, the most promising first: blocks of other sizes, more
/// elements per thread, other promises about registers, blocks that take their work in turn. All of them give the same
/// bits: what decides the order in which the elements of a row are joined (lanes, vectors and items of rows, threads
/// and blocks along columns) stays. With `any_order`, reductions and scans vary that, too. The first ones differ from
/// the heuristic in one respect; where `most` leaves room, others in several.
///
/// None where nothing can vary: a single element, values scattered by index, the CPU.
std::vector<Candidate> tuning_candidates(const Kernel& kernel, const Extents& extents, const Schedule& heuristic,
                                         const DeviceTraits& device, std::size_t most, bool any_order);

/// "block=128 vector=4 items=1 ...": every field that a candidate may change.
std::string candidate_name(const Schedule& schedule);

/// The same behind the name of the form, and what else decides the text: "flat block=256 vector=4 ... whole". What
/// explain() prints; docs/cookbook.md says what each word means.
std::string schedule_text(const Schedule& schedule);

}  // namespace kiln::codegen
