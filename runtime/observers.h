// runtime/observers.h -- what the device does for the user, and whether anybody looks.
#pragma once

#include <atomic>
#include <string_view>

#include "runtime/runtime.h"

namespace kiln::runtime {

/// Something that the device does for the user.
struct Activity {
  enum class Kind : std::uint8_t { kernel, raw_kernel, graph, copy };
  Kind kind = Kind::kernel;
  Backend* backend = nullptr;
  NativeStream stream = nullptr;
  std::string_view name = {};   ///< entry point of the kernel, or "copy host to device"
  std::string_view label = {};  ///< the user's name of it, or the place in the user's code; may be empty
  std::int64_t bytes = 0;       ///< operands read and written once; 0: unknown
  std::int64_t operations = 0;  ///< arithmetic operations; 0: unknown
};

/// Bit 0: a tool shows ranges. The rest counts the profiles that are being taken.
inline constinit std::atomic<unsigned> observers{0};
inline constexpr unsigned tool_attached = 1, one_profile = 2;

/// True while a profile is being taken on some thread or a tool is attached.
inline bool is_observed() { return observers.load(std::memory_order_relaxed) != 0; }

/// Looks for a profiling tool (NVTX), once per process. Called before anything is launched.
void find_tool();

}  // namespace kiln::runtime
