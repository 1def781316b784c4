// codegen/emit/cuda_types.h -- spelling of element types and literals in CUDA C++.
#pragma once

#include <cstdint>
#include <string>

#include <kiln/dtype.h>

namespace kiln::codegen::cuda {

/// The type of an element in memory: bool is a byte, f16 and bf16 are their 16 bits, complex is float2 or double2.
const char* storage_type(DType type);

/// The type of a value in a register: as in memory, but bool is bool.
const char* value_type(DType type);

/// The unsigned type in which an integer of `type` wraps: u32 up to 32 bits, else u64.
const char* wrapping_type(DType type);

/// `bits` as an expression of value_type(type) that is exact whatever the compiler's decimal conversion does.
std::string literal(DType type, std::uint64_t bits);

}  // namespace kiln::codegen::cuda
