// tests/unit/support/fork_safe_test.cpp -- what a forked child finds of locks that other threads held.
#include "support/fork_safe.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace kiln {
namespace {

using Clock = std::chrono::steady_clock;

constinit ForkSafeMutex first, second;
constinit std::atomic<int> half_done{0};  ///< 1 while a thread changes what `first` guards

constinit std::atomic<int> children_told{0};
const InForkedChild told([] { ++children_told; });

/// What `body` returns in a child, which has 10 s; -1: it did not end by itself.
template <class Body>
int in_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    ::_exit(body());
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Rule: no child inherits a lock of another thread, nor what it guards half changed, however often it forks.
TEST(ForkSafe, AChildFindsEveryLockFree) {
  std::atomic<bool> stop{false};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&stop] {
      while (!stop) {
        const std::lock_guard outer(first);
        half_done = 1;
        const std::lock_guard inner(second);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        half_done = 0;
      }
    });
  }
  for (int fork = 0; fork < 50; ++fork) {
    const int result = in_child([] {
      const std::lock_guard outer(first);
      const std::lock_guard inner(second);
      return half_done == 0 ? 0 : 1;
    });
    ASSERT_EQ(result, 0) << fork;
  }
  stop = true;
}

/// Rule: the thread that forks may hold locks itself; it holds them in the child, too.
TEST(ForkSafe, TheForkingThreadKeepsItsOwn) {
  const std::lock_guard outer(first);
  EXPECT_EQ(in_child([] {
              if (!second.try_lock()) return 1;
              second.unlock();
              return first.try_lock() ? 2 : 0;
            }),
            0);
}

/// Rule: a fork that waits for a thread which itself waits for another in front of the gate lets that one in.
TEST(ForkSafe, AHolderThatWaitsForAnotherThreadIsNoDeadlock) {
  std::atomic<bool> held{false}, go_on{false};
  std::jthread holder([&] {
    const std::lock_guard lock(first);
    held = true;
    while (!go_on) std::this_thread::yield();
  });
  while (!held) std::this_thread::yield();
  std::jthread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the fork has begun
    const std::lock_guard lock(second);
    go_on = true;
  });
  const Clock::time_point start = Clock::now();
  EXPECT_EQ(in_child([] { return first.try_lock() ? 0 : 1; }), 0);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(5));
}

/// Rule: a thread that never lets go delays a fork and does not prevent it.
TEST(ForkSafe, AnEndlessHolderDelaysAForkByTenSeconds) {
  std::atomic<bool> held{false}, go_on{false};
  std::jthread holder([&] {
    const NotForked inside;
    held = true;
    while (!go_on) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  while (!held) std::this_thread::yield();
  const Clock::time_point start = Clock::now();
  EXPECT_EQ(in_child([] { return second.try_lock() ? 0 : 1; }), 0);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(12));
  go_on = true;
}

TEST(ForkSafe, ActionsRunOnceInTheChildAndNotInTheParent) {
  EXPECT_EQ(in_child([] { return children_told.load(); }), 1);
  EXPECT_EQ(children_told, 0);
}

/// Rule: threads that are first at the same time get the same object, and one is made.
TEST(ForkSafe, ALeakedObjectIsMadeOnce) {
  static constinit Leaked<std::string> object;
  std::atomic<int> made{0}, different{0};
  std::string* const expected = &object.get([&] {
    ++made;
    return new std::string("one");
  });
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back(
          [&] { different += &object.get([&] { return ++made, new std::string("two"); }) != expected; });
  }
  EXPECT_EQ(made, 1);
  EXPECT_EQ(different, 0);
  EXPECT_EQ(*expected, "one");
  delete expected;
}

}  // namespace
}  // namespace kiln
