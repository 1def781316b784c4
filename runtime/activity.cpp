// runtime/activity.cpp -- one launch or copy seen by profiles and tools.
#include "runtime/activity.h"

#include <mutex>
#include <string>

#include "runtime/cuda_interface.h"
#include "runtime/profiler.h"

namespace kiln::runtime {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

}  // namespace

ToolRange::ToolRange(std::string_view name) {
  if ((observers.load(std::memory_order_relaxed) & tool_attached) == 0) return;
  cuda::push_range(std::string(name).c_str());
  open_ = true;
}

ToolRange::~ToolRange() {
  if (open_) cuda::pop_range();
}

Observation::Observation(const Activity& activity) : activity_(activity), range_(activity.name) {
  counted_ = observers.load(std::memory_order_relaxed) >= one_profile && !profiles_of_this_thread().empty();
  if (counted_ && !activity.backend->is_capturing(activity.stream)) {
    events_ = std::make_shared<EventPair>(*activity.backend);
    activity.backend->record_event(events_->begin, activity.stream);
  }
  begin_ = Clock::now();  // the host's time is that of the call itself
}

Observation::~Observation() = default;

void Observation::finish() {
  if (!counted_) return;
  const double host_ms = milliseconds_since(begin_);
  if (events_) activity_.backend->record_event(events_->end, activity_.stream);
  for (const auto& profile : profiles_of_this_thread()) profile->add(activity_, host_ms, events_);
}

Planning::Planning(std::string_view label)
    : range_(is_observed() ? "plan " + std::string(label) : std::string()), begin_(Clock::now()) {}

Planning::~Planning() {
  if (observers.load(std::memory_order_relaxed) < one_profile) return;
  const double spent = milliseconds_since(begin_);
  for (const auto& profile : profiles_of_this_thread()) {
    const std::lock_guard lock(profile->mutex);
    profile->result.planning_ms += spent;
  }
}

}  // namespace kiln::runtime
