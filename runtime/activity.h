// runtime/activity.h -- launches and copies as kl::profile and profiling tools see them; one load while nobody looks.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
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

/// A range in the timeline of an attached tool; nothing without one.
class ToolRange {
 public:
  explicit ToolRange(std::string_view name);
  ToolRange(const ToolRange&) = delete;
  ToolRange& operator=(const ToolRange&) = delete;
  ~ToolRange();

 private:
  bool open_ = false;
};

struct EventPair;

/// Times one activity and names it for tools. Only what was finished is counted: work that threw never ran.
class Observation {
 public:
  explicit Observation(const Activity& activity);
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;
  ~Observation();
  /// Everything has been enqueued.
  void finish();

 private:
  const Activity& activity_;
  ToolRange range_;
  std::chrono::steady_clock::time_point begin_;
  std::shared_ptr<EventPair> events_;  ///< null while the stream is captured: such work runs later
  bool counted_ = false;
};

/// Runs `work`, which enqueues the activity on its stream.
template <class Work>
void observe(const Activity& activity, Work work) {
  if (!is_observed()) [[likely]]
    return work();
  Observation observation(activity);
  work();
  observation.finish();
}

/// Host time spent on deciding, generating and compiling instead of launching.
class Planning {
 public:
  explicit Planning(std::string_view label);
  Planning(const Planning&) = delete;
  Planning& operator=(const Planning&) = delete;
  ~Planning();

 private:
  ToolRange range_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace kiln::runtime
