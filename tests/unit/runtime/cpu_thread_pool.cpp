// tests/unit/runtime/cpu_thread_pool.cpp -- the CPU device's threads: coverage, nesting, fork, many callers, the host's
// pool.
#include "runtime/cpu/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <vector>

#include "runtime/cpu/cpu.h"
#include "support/env.h"

namespace kiln::runtime {
namespace {

/// Reads KILN_THREADS anew for the scope of a test.
class Threads {
 public:
  explicit Threads(const char* count) {
    setenv("KILN_THREADS", count, 1);
    reload_settings();
    reset_thread_pool();
  }
  ~Threads() {
    unsetenv("KILN_THREADS");
    reload_settings();
    reset_thread_pool();
  }
};

struct Visits {
  std::vector<std::atomic<int>> count;
  std::atomic<int> calls{0};
  explicit Visits(std::size_t units) : count(units) {}
  static void body(void* context, std::int64_t begin, std::int64_t end) {
    Visits& v = *static_cast<Visits*>(context);
    ++v.calls;
    for (std::int64_t k = begin; k < end; ++k) ++v.count[static_cast<std::size_t>(k)];
  }
  bool each_once() const {
    for (const auto& c : count) {
      if (c.load() != 1) return false;
    }
    return true;
  }
};

TEST(ThreadPool, EveryUnitRunsExactlyOnce) {
  const Threads threads("4");
  EXPECT_EQ(pool_threads(), 4);
  for (const std::size_t units : {1u, 2u, 3u, 17u, 1000u, 4097u}) {
    for (int repeat = 0; repeat < 50; ++repeat) {
      Visits visits(units);
      parallel_ranges(static_cast<std::int64_t>(units), 1, Visits::body, &visits);
      ASSERT_TRUE(visits.each_once()) << units;
    }
  }
}

TEST(ThreadPool, SmallWorkStaysOnTheCaller) {
  const Threads threads("4");
  Visits visits(100);
  parallel_ranges(100, 101, Visits::body, &visits);
  EXPECT_EQ(visits.calls, 1);
  Visits none(1);
  parallel_ranges(0, 1, Visits::body, &none);
  EXPECT_EQ(none.calls, 0);
}

TEST(ThreadPool, NestedCallsRunOnTheirCaller) {
  const Threads threads("3");
  std::atomic<int> inner{0}, moved{0};
  struct Context {
    std::atomic<int>*inner, *moved;
  } context{&inner, &moved};
  parallel_ranges(
      12, 1,
      [](void* c, std::int64_t begin, std::int64_t end) {
        for (std::int64_t k = begin; k < end; ++k) {
          struct Inner {
            Context* outer;
            std::thread::id caller;
          } nested{static_cast<Context*>(c), std::this_thread::get_id()};
          parallel_ranges(
              10, 1,
              [](void* n, std::int64_t b, std::int64_t e) {
                Inner& in = *static_cast<Inner*>(n);
                *in.outer->inner += static_cast<int>(e - b);
                if (std::this_thread::get_id() != in.caller) ++*in.outer->moved;
              },
              &nested);
        }
      },
      &context);
  EXPECT_EQ(inner, 120);
  EXPECT_EQ(moved, 0);
}

TEST(ThreadPool, ManyCallersAtOnceAllFinish) {
  const Threads threads("3");
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 100; ++repeat) {
        Visits visits(333);
        parallel_ranges(333, 1, Visits::body, &visits);
        if (!visits.each_once()) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, AForkedChildHasAPoolOfItsOwn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer cannot start threads in a forked child";
#endif
  const Threads threads("3");
  Visits before(500);
  parallel_ranges(500, 1, Visits::body, &before);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a hang must not outlive the test
    Visits visits(500);
    parallel_ranges(500, 1, Visits::body, &visits);
    _exit(visits.each_once() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  Visits after(500);
  parallel_ranges(500, 1, Visits::body, &after);
  EXPECT_TRUE(after.each_once());
}

TEST(ThreadPool, BadSettingsFallBackToTheCores) {
  const Threads threads("many");
  EXPECT_GE(pool_threads(), 1);
}

TEST(ThreadPool, TheHostsParallelForReplacesThePool) {
  const Threads threads("4");
  static int chunks;
  chunks = 0;
  set_parallel_for(
      [](void*, std::int64_t count, void (*body)(void*, std::int64_t), void* context) {
        for (std::int64_t k = count; k-- > 0;) {  // any order
          body(context, k);
          ++chunks;
        }
        return true;
      },
      nullptr);
  Visits visits(1001);
  EXPECT_TRUE(parallel_ranges(1001, 10, Visits::body, &visits));
  set_parallel_for(nullptr, nullptr);
  EXPECT_TRUE(visits.each_once());
  EXPECT_GT(chunks, 1);
}

}  // namespace
}  // namespace kiln::runtime
