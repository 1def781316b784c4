// tests/fuzz/execute_c.h -- programs through the C interface instead of the C++ one.
#pragma once

#include <kiln/detail/bridge.h>

#include "tests/fuzz/program.h"

namespace fuzz {

/// The bits of a scalar or literal in its type.
std::uint64_t literal_bits(const Node& node);

/// A reshape that no strides can express, as a launch refuses it.
struct RefusedReshape {};

/// Computes the targets of the call, which is one of the program. Throws what the C interface reports.
void execute_through_c(const Program& program, const kiln::detail::Call& call);

}  // namespace fuzz
