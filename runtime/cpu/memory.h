// runtime/cpu/memory.h -- host memory for arrays: aligned, in huge pages when large, large blocks kept for reuse.
#pragma once

#include <cstddef>

namespace kiln::runtime {

/// At least one byte, 256-byte aligned. Throws OutOfMemory after the kept blocks were given back and one retry.
void* allocate_host(std::size_t bytes);
void release_host(void* memory) noexcept;
/// Gives every kept block back to the system.
void trim_host_memory() noexcept;

}  // namespace kiln::runtime
