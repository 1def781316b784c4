// dsl/tuner.h -- where tuning meets plans: which kernels are tuned, with which schedules, and what is known already.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "codegen/schedule/candidates.h"
#include "dsl/kernels.h"
#include "runtime/tuning_record.h"
#include "runtime/tuning_session.h"

namespace kiln::dsl {

struct DraftKernel;

/// How the launches of a plan take part in tuning; the session is shared by all plans of the same kernel and size.
struct LaunchTuning {
  std::shared_ptr<runtime::TuningSession> session;
  std::vector<LaunchShape> shapes;  ///< by candidate, for the plan's extents
};

/// What a draft knows of the tuning of one kernel.
struct Tunable {
  codegen::Schedule heuristic;
  runtime::TuningKey key;
  std::vector<codegen::Candidate> candidates;   ///< the heuristic first
  std::optional<runtime::TuningRecord> record;  ///< of a candidate, which then is the draft's schedule
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
