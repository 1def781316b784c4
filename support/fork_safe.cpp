// support/fork_safe.cpp -- the gate between forks and the threads that are inside.
#include "support/fork_safe.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

namespace kiln {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto patience = std::chrono::seconds(10);
// A closed gate is opened now and then: who is inside may wait for a thread that stands before it. Each time it stays
// closed for longer, so that those who are inside for long do not take turns for ever.
constexpr auto first_wait = std::chrono::milliseconds(50), longest_wait = std::chrono::milliseconds(1000);

constexpr std::uint32_t closed = std::uint32_t{1} << 31;
constinit std::atomic<std::uint32_t> gate{0};  ///< the number of threads inside, and `closed`
constinit std::mutex forking;

// initial-exec: one load instead of a call per lock.
constinit thread_local unsigned depth __attribute__((tls_model("initial-exec"))) = 0;

void enter() noexcept {
  if (depth++ > 0) return;  // already inside: it must be able to come to its end
  std::uint32_t now = gate.load(std::memory_order_relaxed);
  for (;;) {
    if ((now & closed) != 0) {
      gate.wait(now, std::memory_order_relaxed);
      now = gate.load(std::memory_order_relaxed);
    } else if (gate.compare_exchange_weak(now, now + 1, std::memory_order_acquire, std::memory_order_relaxed)) {
      return;
    }
  }
}

void leave() noexcept {
  if (--depth == 0) gate.fetch_sub(1, std::memory_order_release);
}

std::uint32_t own_part() { return depth > 0 ? 1 : 0; }

void open_gate() {
  gate.fetch_and(~closed, std::memory_order_release);
  gate.notify_all();
}

bool is_empty_until(Clock::time_point end) {
  for (int look = 0;; ++look) {
    if ((gate.load(std::memory_order_acquire) & ~closed) == own_part()) return true;
    if (look < 100) {
      std::this_thread::yield();
    } else if (Clock::now() >= end) {
      return false;
    } else {
      ::usleep(50);
    }
  }
}

void before_fork() {
  forking.lock();
  const Clock::time_point give_up = Clock::now() + patience;
  auto wait = first_wait;
  for (;;) {
    gate.fetch_or(closed, std::memory_order_acquire);
    if (is_empty_until(Clock::now() + wait) || Clock::now() >= give_up) return;
    open_gate();
    ::usleep(1000);
    wait = std::min(2 * wait, longest_wait);
  }
}

void after_fork_in_parent() {
  open_gate();
  forking.unlock();
}

void after_fork_in_child() {
  gate.store(own_part(), std::memory_order_relaxed);
  forking.unlock();
  InForkedChild::run_all();
}

constinit std::atomic<const InForkedChild*> actions{nullptr};
// When the library is loaded: registering takes a lock of the C library that a fork may hold.
[[maybe_unused]] const int registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);

}  // namespace

NotForked::NotForked() noexcept { enter(); }
NotForked::~NotForked() { leave(); }

void ForkSafeMutex::lock() {
  enter();
  mutex_.lock();
}

bool ForkSafeMutex::try_lock() {
  enter();
  if (mutex_.try_lock()) return true;
  leave();
  return false;
}

void ForkSafeMutex::unlock() {
  mutex_.unlock();
  leave();
}

InForkedChild::InForkedChild(void (*action)()) noexcept : action_(action), next_(actions.load()) {
  while (!actions.compare_exchange_weak(next_, this)) {
  }
}

void InForkedChild::run_all() noexcept {
  for (const InForkedChild* entry = actions.load(); entry; entry = entry->next_) entry->action_();
}

}  // namespace kiln
