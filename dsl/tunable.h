// dsl/tunable.h -- what a draft knows of the tuning of one kernel.
#pragma once

#include <optional>
#include <vector>

#include "codegen/schedule/candidates.h"
#include "runtime/tuning_record.h"

namespace kiln::dsl {

/// What a draft knows of the tuning of one kernel.
struct Tunable {
  codegen::Schedule heuristic;
  runtime::TuningKey key;
  std::vector<codegen::Candidate> candidates;   ///< the heuristic first
  std::optional<runtime::TuningRecord> record;  ///< of a candidate, which then is the draft's schedule
};

}  // namespace kiln::dsl
