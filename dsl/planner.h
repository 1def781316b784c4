// dsl/planner.h -- from a draft to a plan that can be launched.
#pragma once

#include <memory>

#include "dsl/draft.h"
#include "dsl/specializations.h"

namespace kiln::dsl {

/// Compiles and loads every kernel of the draft. `known`: of the compiled function that is called, else null.
std::unique_ptr<const Plan> finish(const Draft& draft, const detail::Call& call, const Machine& machine,
                                   SpecializationList* known);

}  // namespace kiln::dsl
