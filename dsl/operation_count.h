// dsl/operation_count.h -- how much arithmetic a kernel does, for the roofline.
#pragma once

#include <cstdint>

#include "codegen/ir/kernel.h"
#include "dsl/shapes.h"

namespace kiln::dsl {

/// Arithmetic operations of one launch: each operation, function and join of the body counts one for each point at
/// which it must be evaluated (an operation on values of a row once per row), a fused multiply-add two, a conversion
/// none.
std::int64_t operation_count(const codegen::Kernel& kernel, const Shape& loop);

}  // namespace kiln::dsl
