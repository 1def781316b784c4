// dsl/bundled.h -- which machine a call is planned for where kernels come from bundles.
#pragma once

#include "dsl/draft.h"

namespace kiln::dsl {

struct PlannedCall {
  Draft draft;
  Machine machine;
};

/// The call's draft for `machine`. Where bundles are loaded and lack a kernel of it, the draft for the best of their
/// targets whose kernels are all there; else, where the compile mode allows no other source, CompileError with every
/// candidate and why it was rejected.
PlannedCall plan_call(const Trace& trace, const detail::Call& call, runtime::DeviceId device, const Machine& machine);

}  // namespace kiln::dsl
