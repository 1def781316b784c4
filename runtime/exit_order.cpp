// runtime/exit_order.cpp -- our handler of exit: who is counted, who waits, and how it stays the first to run.
#include "runtime/exit_order.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "runtime/background.h"
#include "runtime/detached_thread.h"
#include "support/check.h"
#include "support/fork_safe.h"

namespace kiln::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto patience = std::chrono::seconds(20);  ///< with one compile
constexpr auto longest_sleep = std::chrono::seconds(5);
// A library that is loaded registers thousands of handlers in some 10 ms, and its first use a few more in the next 20.
constexpr unsigned shortest_interval_us = 20, longest_interval_us = 250, most_handlers = 1000;

constinit std::atomic<int> holders{0};
constinit std::atomic<bool> exiting{false};
constinit std::atomic<int> exiting_thread{0};
constinit std::atomic<int> keepers{0}, registering{0};
constinit std::atomic<unsigned> keeper_calls{0};
constinit thread_local int own __attribute__((tls_model("initial-exec"))) = 0;  ///< of the holders

const InForkedChild forget([] {
  holders.store(own);
  exiting.store(false);
  keepers.store(0);
  registering.store(0);
});

/// The first call is the one that counts: what was registered after it has run already.
void wait_for_holders() {
  if (exiting.exchange(true)) return;
  exiting_thread.store(::gettid());
  forget_background_jobs();
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
    put_handlers_while([] { return registering.load() > 0; });
    if (keepers.load() > 0) keeper_calls.wait(seen);
  }
}

bool must_not_begin() { return exiting.load() && exiting_thread.load() != ::gettid(); }

}  // namespace

HoldsExit::HoldsExit() {
  ++holders;
  if (own++ > 0 || !must_not_begin()) return;
  --own;
  --holders;
  std::this_thread::sleep_for(longest_sleep);
  fail<CompileError>("nothing is compiled any more: another thread ends this process");
}

HoldsExit::~HoldsExit() {
  --own;
  --holders;
}

KeepsHandlerLast::KeepsHandlerLast() {
  if (keepers++ == 0) start_detached(keep);
}

KeepsHandlerLast::~KeepsHandlerLast() {
  --keepers;
  wake_keeper();
}

RegistersHandlers::RegistersHandlers() { watch(); }

RegistersHandlers::RegistersHandlers(FirstUses& uses) {
  if (uses.is_first()) watch();
}

void RegistersHandlers::watch() {
  done_ = std::make_shared<std::atomic<bool>>(false);
  if (is_background_thread()) {
    ++registering;
    wake_keeper();
  } else {
    start_detached([done = done_] { put_handlers_while([&] { return !done->load(); }); });
  }
}

RegistersHandlers::~RegistersHandlers() {
  if (!done_) return;
  done_->store(true);
  if (is_background_thread()) --registering;
  put_exit_handler_last();
}

void refuse_while_exiting() {
  // An exit that began before our last handler was there gets to it while this sleeps.
  if (is_background_thread()) ::usleep(2000);
  if (must_not_begin()) fail<CompileError>("nothing is compiled any more: another thread ends this process");
}

void put_exit_handler_last() {
  const NotForked inside;  // the C library's lock
  std::atexit(wait_for_holders);
}

}  // namespace kiln::runtime
