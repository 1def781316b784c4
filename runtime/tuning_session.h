// runtime/tuning_session.h -- tunes one kernel while it serves real calls: each call runs once, some are timed.
//
// The first calls run the heuristic's kernel. When it is known to be worth it, the candidates are built in the
// background; then timed calls take them in turn. Events are only ever asked, never waited for. Whatever goes wrong
// ends the tuning, not the call.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/runtime.h"
#include "runtime/tuning_record.h"
#include "runtime/tuning_trial.h"

namespace kiln::runtime {

class TuningSession : public std::enable_shared_from_this<TuningSession> {
 public:
  struct Built {
    const LoadedKernel* kernel = nullptr;
    std::shared_ptr<const void> owner;  ///< keeps what belongs to the kernel
  };
  struct Candidate {
    std::string name;
    std::function<Built()> build;  ///< on another thread; throws where it cannot be built
  };
  struct Setup {
    TuningKey key;
    std::string name;  ///< of the kernel, for people
    Backend* backend = nullptr;
    double bytes = 1;           ///< moved by the first call; times of others are scaled to it
    unsigned calls_before = 8;  ///< that are not looked at
    TrialRules rules;
    Built heuristic;                    ///< candidate 0
    std::vector<Candidate> candidates;  ///< the heuristic's name first
  };
  explicit TuningSession(Setup setup);
  TuningSession(const TuningSession&) = delete;
  TuningSession& operator=(const TuningSession&) = delete;
  ~TuningSession();

  static constexpr int undecided = -1;
  /// The winner. One load; the kernel of the winner may be used from then on.
  int decided() const { return decided_.load(std::memory_order_acquire); }
  const LoadedKernel& kernel(std::size_t candidate) const { return *built_[candidate].kernel; }
  const std::vector<Candidate>& candidates() const { return setup_.candidates; }

  /// Sessions of this process that have begun to look at calls and are not decided.
  static std::size_t undecided_sessions() { return open_sessions_.load(); }

  /// Launches some candidate, exactly once, and may time it. `launch` enqueues its kernel on `stream`.
  using Launch = std::function<void(std::size_t candidate, const LoadedKernel& kernel)>;
  void run(NativeStream stream, double bytes, const Launch& launch);

 private:
  struct Timed {
    std::size_t candidate = 0;
    double scale = 1;
    void* begin = nullptr;
    void* end = nullptr;
  };
  int choose(NativeStream stream);
  void poll();
  void request_builds();
  void build(std::size_t candidate);
  void take_events(Timed& timed);
  void run_timed(Timed timed, NativeStream stream, const Launch& launch);
  void decide(std::size_t winner);
  void conclude();
  void abandon(const std::string& why);
  void release_events() noexcept;
  TuningRecord record() const;

  static inline constinit std::atomic<std::size_t> open_sessions_{0};

  Setup setup_;
  std::vector<Built> built_;
  std::atomic<int> decided_{undecided};
  std::atomic<unsigned> calls_{0};
  std::mutex mutex_;  // guards the rest; calls that find it taken run the heuristic
  Trial trial_;
  bool requested_ = false;
  std::size_t unbuilt_ = 0;
  std::deque<Timed> pending_;
  std::vector<Timed> spare_;  ///< pairs of events to be used again
};

}  // namespace kiln::runtime
