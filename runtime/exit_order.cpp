// runtime/exit_order.cpp -- our handler of exit: who is counted, and who waits.
#include "runtime/exit_order.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "support/check.h"
#include "support/fork_safe.h"

namespace kiln::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto patience = std::chrono::seconds(20);  ///< with one compile
constexpr auto longest_sleep = std::chrono::seconds(5);

constinit std::atomic<int> holders{0};
constinit std::atomic<bool> exiting{false};
constinit std::atomic<int> exiting_thread{0};
constinit std::atomic<void (*)()> first_action{nullptr};
constinit thread_local int own __attribute__((tls_model("initial-exec"))) = 0;  ///< of the holders

const InForkedChild forget([] {
  holders.store(own);
  exiting.store(false);
});

/// The first call is the one that counts: what was registered after it has run already.
void wait_for_holders() {
  if (exiting.exchange(true)) return;
  exiting_thread.store(::gettid());
  if (void (*const action)() = first_action.load()) action();
  const Clock::time_point give_up = Clock::now() + patience;
  while (holders.load() > own && Clock::now() < give_up) ::usleep(200);
}

bool must_not_begin() { return exiting.load() && exiting_thread.load() != ::gettid(); }

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

void refuse_while_exiting() {
  if (must_not_begin()) fail<CompileError>("nothing is compiled any more: another thread ends this process");
}

void refuse_after_exit() {
  if (exiting.load())
    fail<CompileError>("nothing is compiled any more: this process ends, and what a compile needs may be gone");
}

void set_exit_action(void (*action)()) { first_action.store(action); }

void put_exit_handler_last() {
  const NotForked inside;  // the C library's lock
  std::atexit(wait_for_holders);
}

}  // namespace kiln::runtime
