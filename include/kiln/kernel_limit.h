// kiln/kernel_limit.h -- how many compiled kernels a process keeps in memory.
//
//   kl::set_kernel_limit(200);     // a server that makes functions without end, and has little memory
//
// Each distinct expression is a kernel, and kernels stay loaded so that the next call of the same expression finds
// its own. Beyond the limit those that were asked for longest ago are unloaded; when they are wanted again they come
// from the disk cache or a bundle, else they are compiled again. A kernel in use is never unloaded, and does count:
// whatever a kl::jit function, a raw kernel, an expression in the source of the program (its last shapes), or a
// kl::Graph can launch without asking. A loaded kernel takes some 15 kB on the CPU device, and what the driver takes
// on a GPU.
//
// A CUDA graph that another library captured holds no kernel of kiln's, so what was launched into one stays loaded. So
// does, without a question to the driver at each launch, every kernel that ran on a stream other than the default one
// while no more than half the limit were loaded.
#pragma once

#include <kiln/detail/bridge.h>

namespace kiln {

inline constexpr unsigned default_kernel_limit = 1024;
inline constexpr unsigned no_kernel_limit = 0xffffffffu;

/// Of the process. A lower limit takes effect at once. From any thread; cached calls do not look at it.
KILN_API void set_kernel_limit(unsigned kernels) noexcept;
KILN_API unsigned kernel_limit() noexcept;

/// Kernels that are loaded now, on all devices together; those of two devices count twice.
KILN_API unsigned loaded_kernels() noexcept;

}  // namespace kiln
