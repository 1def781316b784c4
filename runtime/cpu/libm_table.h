// runtime/cpu/libm_table.h -- the C library functions that kernels call, in the order of support/libm.def.
#pragma once

namespace kiln::runtime {

/// Address of the table of function pointers.
const void* libm_table();

}  // namespace kiln::runtime
