// dsl/tuner.h -- where tuning meets plans: which kernels are tuned, with which schedules, and what is known already.
#pragma once

#include <memory>
#include <vector>

#include "dsl/draft.h"
#include "runtime/tuning_session.h"

namespace kiln::dsl {

/// How the launches of a plan take part in tuning; the session is shared by all plans of the same kernel and size.
struct LaunchTuning {
  std::shared_ptr<runtime::TuningSession> session;
  std::vector<LaunchShape> shapes;  ///< by candidate, for the plan's extents
};

/// Finds what is known of the kernel and gives it the schedule that won. Does nothing for kernels that are too small,
/// or cannot vary.
void apply_tuning(DraftKernel& draft, const Machine& machine, const CodeFlags& flags);

/// The session that the kernel takes part in; null where its schedule is known, or nothing is to be tuned now. `loaded`
/// is the heuristic's kernel, which is about to be launched with `shape`: counters are made to suffice for all
/// candidates.
std::shared_ptr<const LaunchTuning> join_tuning(const DraftKernel& draft, const Machine& machine,
                                                const CodeFlags& flags,
                                                const std::shared_ptr<const CompiledKernel>& compiled,
                                                LaunchShape& shape);

/// A sentence for explain(): what was measured, where it was.
std::string tuning_text(const runtime::TuningRecord& record);

}  // namespace kiln::dsl
