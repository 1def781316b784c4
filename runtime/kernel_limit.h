// runtime/kernel_limit.h -- kl::kernel_limit() of the process, and a count of what is loaded.
#pragma once

#include <atomic>
#include <cstddef>

#include <kiln/kernel_limit.h>

namespace kiln::runtime {

inline constinit std::atomic<unsigned> kernel_limit_setting{default_kernel_limit};
inline std::size_t kernel_limit() { return kernel_limit_setting.load(std::memory_order_relaxed); }

/// A member of whatever stands for a loaded kernel.
class LoadedCount {
 public:
  LoadedCount() { now_.fetch_add(1, std::memory_order_relaxed); }
  ~LoadedCount() { now_.fetch_sub(1, std::memory_order_relaxed); }
  LoadedCount(const LoadedCount&) = delete;
  LoadedCount& operator=(const LoadedCount&) = delete;
  static unsigned now() { return now_.load(std::memory_order_relaxed); }

 private:
  static inline constinit std::atomic<unsigned> now_{0};
};

}  // namespace kiln::runtime
