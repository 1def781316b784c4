// runtime/tuning_session.cpp -- who runs next, what its events say, and what is kept of it.
#include "runtime/tuning_session.h"

#include <ctime>
#include <exception>

#include "runtime/background.h"
#include "runtime/tuning_store.h"
#include "support/log.h"

namespace kiln::runtime {
namespace {

constexpr std::size_t most_pending = 32;  ///< pairs of events: beyond, calls are not timed

}  // namespace

TuningSession::TuningSession(Setup setup)
    : setup_(std::move(setup)), built_(setup_.candidates.size()), trial_(setup_.candidates.size(), setup_.rules) {
  built_[0] = setup_.heuristic;
  ++open_sessions_;
}

TuningSession::~TuningSession() {
  if (decided_.load(std::memory_order_relaxed) == undecided) --open_sessions_;
  release_events();
}

void TuningSession::release_events() noexcept {
  for (Timed& timed : pending_) spare_.push_back(timed);
  pending_.clear();
  for (const Timed& timed : spare_) {
    setup_.backend->destroy_event(timed.begin);
    setup_.backend->destroy_event(timed.end);
  }
  spare_.clear();
}

void TuningSession::run(NativeStream stream, double bytes, const Launch& launch) {
  const auto heuristic = [&] { launch(0, *built_[0].kernel); };
  if (calls_.fetch_add(1, std::memory_order_relaxed) < setup_.calls_before) return heuristic();
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return heuristic();
  if (const int winner = decided_.load(std::memory_order_relaxed); winner != undecided)
    return launch(static_cast<std::size_t>(winner), *built_[static_cast<std::size_t>(winner)].kernel);
  Timed timed;
  try {
    const int candidate = choose(stream);
    if (candidate == Trial::none) return heuristic();
    timed.candidate = static_cast<std::size_t>(candidate);
    timed.scale = bytes > 0 ? setup_.bytes / bytes : 1;
    take_events(timed);
    setup_.backend->record_event(timed.begin, stream);
  } catch (const std::exception& error) {
    if (timed.begin) spare_.push_back(timed);
    abandon(error.what());
    return heuristic();
  }
  run_timed(timed, stream, launch);
}

/// The candidate whose turn it is, or none: then this call is not timed.
int TuningSession::choose(NativeStream stream) {
  poll();
  if (decided_.load(std::memory_order_relaxed) != undecided) return Trial::none;
  if (!requested_ && trial_.knows_heuristic()) {
    if (trial_.is_too_short()) {
      abandon("a launch takes as long as the kernel");
      return Trial::none;
    }
    request_builds();
  }
  if (pending_.size() >= most_pending || setup_.backend->is_capturing(stream)) return Trial::none;
  return trial_.next();
}

void TuningSession::take_events(Timed& timed) {
  if (!spare_.empty()) {
    timed.begin = spare_.back().begin, timed.end = spare_.back().end;
    spare_.pop_back();
    return;
  }
  timed.begin = setup_.backend->create_event();
  try {
    timed.end = setup_.backend->create_event();
  } catch (...) {
    setup_.backend->destroy_event(timed.begin);
    timed.begin = nullptr;
    throw;
  }
}

void TuningSession::run_timed(Timed timed, NativeStream stream, const Launch& launch) {
  try {
    launch(timed.candidate, *built_[timed.candidate].kernel);
  } catch (const std::exception& error) {
    spare_.push_back(timed);
    trial_.lose(timed.candidate);
    if (timed.candidate == 0) throw;
    KILN_LOG(2, "tuning {}: {} is out: {}", setup_.name, setup_.candidates[timed.candidate].name, error.what());
    trial_.drop(timed.candidate);
    return launch(0, *built_[0].kernel);  // nothing was enqueued
  }
  try {
    setup_.backend->record_event(timed.end, stream);
    pending_.push_back(timed);
  } catch (const std::exception& error) {
    spare_.push_back(timed);
    abandon(error.what());
  }
}

void TuningSession::poll() {
  while (!pending_.empty()) {
    const Timed timed = pending_.front();
    const float milliseconds = setup_.backend->elapsed_if_done(timed.begin, timed.end);
    if (milliseconds < 0) break;
    pending_.pop_front();
    spare_.push_back(timed);
    trial_.add(timed.candidate, 1e3 * static_cast<double>(milliseconds) * timed.scale);
  }
  if (trial_.is_decided()) conclude();
}

void TuningSession::request_builds() {
  requested_ = true;
  unbuilt_ = setup_.candidates.size() - 1;
  const std::shared_ptr<TuningSession> self = shared_from_this();
  for (std::size_t candidate = 1; candidate < setup_.candidates.size(); ++candidate) {
    if (run_in_background([self, candidate] { self->build(candidate); })) continue;
    abandon("no thread to compile candidates");
    return;
  }
}

/// On the background thread. The lock is held only to hand over what was built.
void TuningSession::build(std::size_t candidate) {
  Built built;
  std::string problem;
  if (decided_.load(std::memory_order_relaxed) == undecided) {
    try {
      built = setup_.candidates[candidate].build();
    } catch (const std::exception& error) {
      problem = error.what();
    }
  }
  const std::lock_guard lock(mutex_);
  if (decided_.load(std::memory_order_relaxed) != undecided) {
    built = {};  // it came too late
  } else if (built.kernel) {
    built_[candidate] = std::move(built);
  } else {
    KILN_LOG(2, "tuning {}: {} is out: {}", setup_.name, setup_.candidates[candidate].name, problem);
    trial_.drop(candidate);
  }
  if (--unbuilt_ == 0) trial_.allow_candidates();
}

/// Losers are not held any longer: they would keep a dozen kernels loaded for each that is tuned.
void TuningSession::decide(std::size_t winner) {
  release_events();
  --open_sessions_;
  decided_.store(static_cast<int>(winner), std::memory_order_release);
  for (std::size_t candidate = 1; candidate < built_.size(); ++candidate)
    if (candidate != winner) built_[candidate] = {};
}

TuningRecord TuningSession::record() const {
  TuningRecord record;
  record.key = setup_.key;
  record.name = setup_.name;
  record.choice = setup_.candidates[trial_.winner()].name;
  record.heuristic = setup_.candidates[0].name;
  record.choice_us = trial_.winner_us();
  record.heuristic_us = trial_.heuristic_us();
  record.runs = trial_.runs();
  record.date = std::time(nullptr);
  return record;
}

void TuningSession::conclude() {
  if (decided_.load(std::memory_order_relaxed) != undecided) return;
  const TuningRecord found = record();
  KILN_LOG(2, "tuned {}: {} takes {:.2f} us, the heuristic ({}) {:.2f} us, after {} runs", found.name, found.choice,
           found.choice_us, found.heuristic, found.heuristic_us, found.runs);
  decide(trial_.winner());
  run_in_background([found] { TuningStore::instance().publish(found); }, AtExit::finish);
}

/// The heuristic stays, and nothing is kept: another process may try again.
void TuningSession::abandon(const std::string& why) {
  if (decided_.load(std::memory_order_relaxed) != undecided) return;
  KILN_LOG(2, "tuning {} ends: {}", setup_.name, why);
  decide(0);
}

}  // namespace kiln::runtime
