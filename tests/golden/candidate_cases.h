// tests/golden/candidate_cases.h -- kernels of every form with all schedules that a tuner may give them.
#pragma once

#include "codegen/schedule/candidates.h"
#include "tests/golden/reduction_cases.h"

namespace kiln::golden {

struct CandidateCase {
  std::string name;  ///< an identifier; candidate k is emitted as <name>_<k>
  codegen::Kernel kernel;
  codegen::Extents extents;
  std::vector<codegen::Candidate> candidates;
};

std::vector<CandidateCase> candidate_cases();

}  // namespace kiln::golden
