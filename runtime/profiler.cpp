// runtime/profiler.cpp -- the profiles that are being taken, and the sums that each of them keeps.
#include "runtime/profiler.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "support/fork_safe.h"

namespace kiln::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// Events that wait to be read: beyond this number the older half is waited for.
constexpr std::size_t most_pending = 4096;
constexpr std::size_t most_spare = 2 * most_pending;

struct Registry {
  ForkSafeMutex mutex;
  std::vector<std::shared_ptr<Profiler::State>> active;
};

struct Spare {
  ForkSafeMutex mutex;
  std::unordered_map<Backend*, std::vector<std::pair<void*, void*>>> pairs;
};

constinit Leaked<Registry> the_registry;
Registry& registry() { return the_registry.get(); }
constinit Leaked<Spare> the_spare;
Spare& spare() { return the_spare.get(); }

double milliseconds(Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

/// Taken out of the list of active profiles; false when it was not there.
bool withdraw(const std::shared_ptr<Profiler::State>& state) {
  const std::lock_guard lock(registry().mutex);
  if (std::erase(registry().active, state) == 0) return false;
  observers.fetch_sub(one_profile, std::memory_order_relaxed);
  return true;
}

}  // namespace

EventPair::EventPair(Backend& of) : backend(&of) {
  {
    const std::lock_guard lock(spare().mutex);
    auto& pairs = spare().pairs[backend];
    if (!pairs.empty()) {
      std::tie(begin, end) = pairs.back();
      pairs.pop_back();
      return;
    }
  }
  begin = backend->create_event();
  try {
    end = backend->create_event();
  } catch (...) {
    backend->destroy_event(begin);
    throw;
  }
}

EventPair::~EventPair() {
  {
    const std::lock_guard lock(spare().mutex);
    auto& pairs = spare().pairs[backend];
    if (pairs.size() < most_spare) {
      pairs.emplace_back(begin, end);
      return;
    }
  }
  backend->destroy_event(begin);
  backend->destroy_event(end);
}

std::vector<std::shared_ptr<Profiler::State>> profiles_of_this_thread() {
  std::vector<std::shared_ptr<Profiler::State>> seen;
  const std::lock_guard lock(registry().mutex);
  for (const auto& state : registry().active)
    if (state->sees(std::this_thread::get_id())) seen.push_back(state);
  return seen;
}

void Profiler::State::add(const Activity& activity, double host_ms, std::shared_ptr<EventPair> events) {
  const DeviceId device = activity.backend->info().id;
  const std::string key = fmt::format("{}:{}:{} {}\n{}", static_cast<int>(activity.kind), static_cast<int>(device.kind),
                                      device.index, activity.name, activity.label);
  const std::lock_guard lock(mutex);
  const auto [position, inserted] = positions.try_emplace(key, result.entries.size());
  if (inserted) {
    ProfileEntry& fresh = result.entries.emplace_back();
    fresh.kind = activity.kind;
    fresh.name = activity.name;
    fresh.label = activity.label;
    fresh.device = device;
    fresh.peak_bandwidth = activity.backend->info().peak_bandwidth;
  }
  ProfileEntry& entry = result.entries[position->second];
  ++entry.count;
  entry.host_ms += host_ms;
  if (!events) {
    ++entry.captured;
    return;
  }
  entry.bytes += activity.bytes;
  entry.operations += activity.operations;
  pending.emplace_back(position->second, std::move(events));
  if (pending.size() >= most_pending) read_times(most_pending / 2);
}

void Profiler::State::read_times(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const EventPair& events = *pending[i].second;
    events.backend->synchronize_event(events.end);
    const double time = static_cast<double>(events.backend->elapsed_ms(events.begin, events.end));
    ProfileEntry& entry = result.entries[pending[i].first];
    const bool first = entry.longest_ms == 0 && entry.device_ms == 0;
    entry.shortest_ms = first ? time : std::min(entry.shortest_ms, time);
    entry.longest_ms = std::max(entry.longest_ms, time);
    entry.device_ms += time;
  }
  pending.erase(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(count));
}

Profiler::Profiler(bool all_threads) : state_(std::make_shared<State>()) {
  find_tool();
  state_->all_threads = all_threads;
  state_->thread = std::this_thread::get_id();
  state_->counters = cache_counters();
  state_->start = Clock::now();
  const std::lock_guard lock(registry().mutex);
  registry().active.push_back(state_);
  observers.fetch_add(one_profile, std::memory_order_relaxed);
}

Profiler::~Profiler() { withdraw(state_); }

ProfileResult Profiler::stop() {
  withdraw(state_);
  const std::lock_guard lock(state_->mutex);
  state_->read_times(state_->pending.size());
  ProfileResult result = std::move(state_->result);
  result.wall_ms = milliseconds(Clock::now() - state_->start);
  const CacheCounters now = cache_counters();
  result.compiles = now.compiles - state_->counters.compiles;
  result.disk_hits = now.disk_hits - state_->counters.disk_hits;
  std::stable_sort(result.entries.begin(), result.entries.end(),
                   [](const ProfileEntry& a, const ProfileEntry& b) { return a.device_ms > b.device_ms; });
  return result;
}

}  // namespace kiln::runtime
