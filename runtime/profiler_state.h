// runtime/profiler_state.h -- what a profile gathers, and the list of profiles that are being taken.
#pragma once

#include <chrono>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "runtime/profiler.h"

namespace kiln::runtime {

/// Two events of one device around an activity; given back for reuse by the last profile that reads them.
struct EventPair {
  Backend* backend = nullptr;
  void* begin = nullptr;
  void* end = nullptr;
  explicit EventPair(Backend& of);
  EventPair(const EventPair&) = delete;
  EventPair& operator=(const EventPair&) = delete;
  ~EventPair();
};

struct Profiler::State {
  bool all_threads = false;
  std::thread::id thread;
  std::chrono::steady_clock::time_point start;
  CacheCounters counters;

  std::mutex mutex;
  ProfileResult result;
  std::unordered_map<std::string, std::size_t> positions;  ///< by kind, device, name and label
  std::vector<std::pair<std::size_t, std::shared_ptr<EventPair>>> pending;

  bool sees(std::thread::id other) const { return all_threads || thread == other; }
  void add(const Activity& activity, double host_ms, std::shared_ptr<EventPair> events);
  /// Reads the times of the oldest `count` pending activities; waits for them.
  void read_times(std::size_t count);
};

/// The profiles that see this thread.
std::vector<std::shared_ptr<Profiler::State>> profiles_of_this_thread();

}  // namespace kiln::runtime
