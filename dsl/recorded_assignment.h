// dsl/recorded_assignment.h -- what `=` may do to an array while a capture records.
#pragma once

#include <kiln/detail/bridge.h>

#include "runtime/recording.h"

namespace kiln::dsl {

/// ShapeError where the graph already uses the memory of `array`, which is to be replaced by that of a result.
void check_replaced(const runtime::Recording& recording, const detail::Handle& array, const detail::Layout& by,
                    detail::Where where);

}  // namespace kiln::dsl
