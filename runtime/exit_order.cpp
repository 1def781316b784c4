// runtime/exit_order.cpp -- our handler of exit: who is counted, who waits, and how it stays the first to run.
#include "runtime/exit_order.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <limits>
#include <thread>

#include "runtime/detached_thread.h"
#include "support/check.h"
#include "support/fork_safe.h"

namespace kiln::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto patience = std::chrono::seconds(20);                   ///< with one compile
constexpr auto patience_of_threads = std::chrono::milliseconds(150);  ///< with the loading or first use of a library
constexpr auto quiet_after_end = std::chrono::milliseconds(50);       ///< then nothing is loaded in the background
constexpr auto longest_sleep = std::chrono::seconds(5);
// A library that is loaded registers thousands of handlers in some 10 ms, and its first use a few more in the next 20.
constexpr unsigned shortest_interval_us = 20, longest_interval_us = 250, most_handlers = 1000;

constinit std::atomic<int> holders{0};
constinit std::atomic<bool> exiting{false};
constinit std::atomic<int> exiting_thread{0};
constinit std::atomic<void (*)()> first_action{nullptr};
constinit thread_local bool is_kept __attribute__((tls_model("initial-exec"))) = false;  ///< has a KeepsHandlerLast
constinit std::atomic<int> keepers{0}, registering{0}, kept_registering{0};
constinit std::atomic<unsigned> keeper_calls{0};
constinit std::atomic<Clock::rep> last_end{std::numeric_limits<Clock::rep>::min() / 2};  ///< of a watched thread
constinit thread_local int own_registering __attribute__((tls_model("initial-exec"))) = 0;
constinit thread_local int own __attribute__((tls_model("initial-exec"))) = 0;  ///< of the holders

const InForkedChild forget([] {
  holders.store(own);
  exiting.store(false);
  keepers.store(0);
  registering.store(own_registering);
  kept_registering.store(0);
});

/// The first call is the one that counts: what was registered after it has run already.
void wait_for_holders() {
  if (exiting.exchange(true)) return;
  exiting_thread.store(::gettid());
  if (void (*const action)() = first_action.load()) action();
  const Clock::time_point give_up = Clock::now() + patience;
  while (holders.load() > own && Clock::now() < give_up) ::usleep(200);
}

template <class Condition>
void put_handlers_while(Condition condition) {
  ::prctl(PR_SET_TIMERSLACK, 1UL);  // of this thread: else each sleep is longer by 50 us
  for (unsigned n = 0; n < most_handlers && condition() && !exiting.load(); ++n) {
    put_exit_handler_last();
    ::usleep(n < most_handlers / 2 ? shortest_interval_us : longest_interval_us);
  }
}

void wake_keeper() {
  ++keeper_calls;
  keeper_calls.notify_all();
}

void keep() {
  while (keepers.load() > 0) {
    const unsigned seen = keeper_calls.load();
    put_handlers_while([] { return kept_registering.load() > 0; });
    if (keepers.load() > 0) keeper_calls.wait(seen);
  }
}

/// The destructors of a thread's objects run before any handler where that thread calls exit. Nothing tells that from
/// the end of the thread alone, so this only waits for a moment at which our handler is the last.
struct EndOfThread {
  EndOfThread() = default;
  EndOfThread(const EndOfThread&) = delete;
  EndOfThread& operator=(const EndOfThread&) = delete;
  ~EndOfThread() {
    last_end.store(Clock::now().time_since_epoch().count());
    const Clock::time_point give_up = Clock::now() + patience_of_threads;
    while (registering.load() > own_registering && Clock::now() < give_up) ::usleep(100);
  }
  void touch() {}  ///< its first use registers the destructor
};
thread_local EndOfThread end_of_thread;

bool has_thread_just_ended() {
  return Clock::now().time_since_epoch().count() - last_end.load() < Clock::duration(quiet_after_end).count();
}

bool must_not_begin() { return exiting.load() && exiting_thread.load() != ::gettid(); }

[[maybe_unused]] const bool loads = (watch_end_of_thread(), true);  // the thread that loads kiln is mostly the main one

}  // namespace

HoldsExit::HoldsExit(UnlessTooLate) {
  ++holders;
  if (own++ > 0 || !must_not_begin()) return;
  --own;
  --holders;
  holds_ = false;
}

HoldsExit::HoldsExit() : HoldsExit(UnlessTooLate()) {
  if (holds_) return;
  std::this_thread::sleep_for(longest_sleep);
  fail<CompileError>("nothing is compiled any more: another thread ends this process");
}

HoldsExit::~HoldsExit() {
  if (!holds_) return;
  --own;
  --holders;
}

KeepsHandlerLast::KeepsHandlerLast() {
  is_kept = true;
  if (keepers++ == 0) start_detached(keep);
}

KeepsHandlerLast::~KeepsHandlerLast() {
  is_kept = false;
  --keepers;
  wake_keeper();
}

void KeepsHandlerLast::begin() {
  ++kept_registering;
  wake_keeper();
}

void KeepsHandlerLast::end() {
  --kept_registering;
  put_exit_handler_last();
}

RegistersHandlers::RegistersHandlers() { watch(); }

RegistersHandlers::RegistersHandlers(FirstUses& uses) {
  if (uses.is_first()) watch();
}

void RegistersHandlers::watch() {
  done_ = std::make_shared<std::atomic<bool>>(false);
  ++own_registering;
  ++registering;
  if (is_kept) {
    // The process may be about to end. There is time.
    while (own_registering == 1 && has_thread_just_ended() && !exiting.load()) {
      --registering;
      ::usleep(1000);
      ++registering;
    }
    ++kept_registering;
    wake_keeper();
  } else {
    start_detached([done = done_] { put_handlers_while([&] { return !done->load(); }); });
  }
}

RegistersHandlers::~RegistersHandlers() {
  if (!done_) return;
  done_->store(true);
  if (is_kept) --kept_registering;
  --registering;
  --own_registering;
  put_exit_handler_last();
}

void refuse_while_exiting() {
  // An exit that began before our last handler was there gets to it while this sleeps.
  if (is_kept) ::usleep(2000);
  if (must_not_begin()) fail<CompileError>("nothing is compiled any more: another thread ends this process");
}

void refuse_after_exit() {
  if (exiting.load())
    fail<CompileError>("nothing is compiled any more: this process ends, and the compiler's own data may be gone");
}

void watch_end_of_thread() { end_of_thread.touch(); }

void set_exit_action(void (*action)()) { first_action.store(action); }

void put_exit_handler_last() {
  const NotForked inside;  // the C library's lock
  std::atexit(wait_for_holders);
}

}  // namespace kiln::runtime
