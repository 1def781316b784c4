// runtime/cpu/image.h -- a compiled kernel in executable memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "runtime/kernel_limit.h"

namespace kiln::runtime {

/// One mapping per kernel, written first and executable afterwards, never both. Unmapped by the destructor.
class CpuImage {
 public:
  using Entry = void (*)(const void* arguments, std::int64_t begin, std::int64_t end, const void* libm);

  /// Throws DeviceError when the bytes are not an image or the system refuses executable memory.
  explicit CpuImage(std::span<const char> image);
  CpuImage(const CpuImage&) = delete;
  CpuImage& operator=(const CpuImage&) = delete;
  ~CpuImage();
  Entry entry() const { return entry_; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  Entry entry_ = nullptr;
  LoadedCount count_;
};

}  // namespace kiln::runtime
