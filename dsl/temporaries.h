// dsl/temporaries.h -- values between kernels take memory that others no longer need.
#pragma once

#include "dsl/draft.h"

namespace kiln::dsl {

/// Renumbers the temporaries of `draft`, whose bases from `first` on they are: those of which one is read for the last
/// time before the other is written share memory. Kernels of a call run one after another.
void share_temporaries(Draft& draft, std::uint32_t first);

}  // namespace kiln::dsl
