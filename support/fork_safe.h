// support/fork_safe.h -- locks, objects and handlers by which a forked child finds the library whole.
//
// A child has one thread: what the others held or were changing stays as it was. So a fork waits until no other thread
// holds a ForkSafeMutex or has a NotForked; while it waits, threads that have none do not get one. That needs no order
// among the locks. It waits 10 s at most: a thread that holds a lock may itself wait for the one that forks.
#pragma once

#include <atomic>
#include <mutex>

namespace kiln {

/// While one lives on a thread, forks of other threads wait.
class NotForked {
 public:
  NotForked() noexcept;
  NotForked(const NotForked&) = delete;
  NotForked& operator=(const NotForked&) = delete;
  ~NotForked();
};

/// A mutex that no child inherits locked, guarding what no child inherits half changed. Every lock of the library is
/// one, unless what it guards is replaced in the child, or only used after a check that refuses children.
class ForkSafeMutex {
 public:
  void lock();
  bool try_lock();
  void unlock();

 private:
  std::mutex mutex_;
};

/// An object that is made at first use and never destroyed: threads may use it while the process exits. A static local
/// would do, but for a child that is forked while another thread initialises it.
template <class T>
class Leaked {
 public:
  constexpr Leaked() = default;
  T& get() {
    return get([] { return new T; });
  }
  /// `make` returns a pointer from new. Where it throws, the next use tries again.
  template <class Make>
  T& get(Make make) {
    if (T* const ready = object_.load(std::memory_order_acquire)) [[likely]]
      return *ready;
    const std::lock_guard lock(mutex_);
    if (!object_.load(std::memory_order_relaxed)) object_.store(make(), std::memory_order_release);
    return *object_.load(std::memory_order_relaxed);
  }

 private:
  ForkSafeMutex mutex_;
  std::atomic<T*> object_{nullptr};
};

/// Runs an action in every forked child, before fork returns there. Objects with static storage only.
class InForkedChild {
 public:
  explicit InForkedChild(void (*action)()) noexcept;
  InForkedChild(const InForkedChild&) = delete;
  InForkedChild& operator=(const InForkedChild&) = delete;

  static void run_all() noexcept;

 private:
  void (*action_)();
  const InForkedChild* next_;
};

}  // namespace kiln
