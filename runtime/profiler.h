// runtime/profiler.h -- collects the activities of a thread, or of all, while a profile is taken.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/observers.h"
#include "support/fork_safe.h"

namespace kiln::runtime {

/// All activities of one name, label and device.
struct ProfileEntry {
  Activity::Kind kind = Activity::Kind::kernel;
  std::string name, label;
  DeviceId device;
  double peak_bandwidth = 0;  ///< of the device, bytes per second; 0: unknown
  std::int64_t count = 0;
  std::int64_t captured = 0;  ///< of `count`, those recorded into a graph, which have no time of their own
  double device_ms = 0, shortest_ms = 0, longest_ms = 0;
  double host_ms = 0;  ///< spent in the calls that enqueued them
  std::int64_t bytes = 0, operations = 0;
};

struct ProfileResult {
  std::vector<ProfileEntry> entries;  ///< longest time on the device first
  double wall_ms = 0;                 ///< from the start until everything counted was done
  double planning_ms = 0;             ///< host time of deciding, generating and compiling
  std::uint64_t compiles = 0, disk_hits = 0;
};

/// Takes a profile from construction to stop(). Profiles may be nested and overlap: an activity counts in each of them.
class Profiler {
 public:
  /// Of the constructing thread, or of all threads of the process.
  explicit Profiler(bool all_threads);
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;
  ~Profiler();
  /// Waits for what was counted. From any thread, once.
  ProfileResult stop();

  struct State;

 private:
  std::shared_ptr<State> state_;
};

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

  ForkSafeMutex mutex;
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
