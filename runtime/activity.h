// runtime/activity.h -- launches and copies as kl::profile and profiling tools see them; one load while nobody looks.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "runtime/observers.h"

namespace kiln::runtime {

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
