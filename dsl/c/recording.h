// dsl/c/recording.h -- what captures and recordings of the C interface keep besides the graph.
#pragma once

#include <memory>

#include "dsl/c/function.h"

namespace kiln::dsl::c {

/// While this thread captures, what is recorded may call the function: it is kept with the recording.
void note_captured_function(const std::shared_ptr<const UserFunction>& function);

}  // namespace kiln::dsl::c
