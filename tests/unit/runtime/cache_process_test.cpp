// tests/unit/runtime/cache_process_test.cpp -- many processes on one cold cache, writers killed at work (case C03).
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/unit/runtime/cache_test_support.h"

namespace kiln::runtime {
namespace {

using namespace test_support;

class CacheProcessTest : public CacheTest {
 protected:
  /// Forks `count` children that start together; returns how many succeeded.
  template <class Body>
  int run_children(int count, Body body) {
    int gate[2];
    EXPECT_EQ(pipe(gate), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < count; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        close(gate[1]);
        char byte;
        if (read(gate[0], &byte, 1) < 0) _exit(2);  // returns at end of file, when the parent opens the gate
        alarm(60);
        _exit(body(i) ? 0 : 1);
      }
      children.push_back(child);
    }
    close(gate[0]);
    close(gate[1]);
    int succeeded = 0;
    for (const pid_t child : children) {
      int status = -1;
      waitpid(child, &status, 0);
      succeeded += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return succeeded;
  }
};

bool right_kernels(int kernels) {
  for (int k = 0; k < kernels; ++k) {
    const KernelSource source = make_source(std::string(5000, 'k') + std::to_string(k));
    if (image_of(*cached_binary(source, make_options())) != expected_image(source, make_options())) return false;
  }
  return true;
}

TEST_F(CacheProcessTest, SixteenProcessesRaceOnAColdCache) {
  EXPECT_EQ(run_children(16, [](int) { return right_kernels(5); }), 16);
  EXPECT_EQ(entries().size(), 5u) << "one entry per kernel and no temporary file";
  fresh_process();
  EXPECT_TRUE(right_kernels(5));
  EXPECT_EQ(compiles, 0);
}

files::Step deadly_step;
int deadly_countdown;
int kill_at(files::Step step, const char*) {
  if (step == deadly_step && --deadly_countdown == 0) kill(getpid(), SIGKILL);
  return 0;
}

TEST_F(CacheProcessTest, WritersKilledAtAnyStepLeaveAWorkingCache) {
  for (const files::Step step : {files::Step::open_write, files::Step::write, files::Step::sync, files::Step::rename}) {
    for (int nth = 1; nth <= 3; ++nth) {
      std::filesystem::remove_all(directory_.path);
      std::filesystem::create_directory(directory_.path);
      fresh_process();
      const int succeeded = run_children(1, [step, nth](int) {
        deadly_step = step;
        deadly_countdown = nth;
        files::set_fault_hook(kill_at);
        return right_kernels(3);
      });
      EXPECT_EQ(succeeded, 0) << "the writer was to be killed";
      fresh_process();
      EXPECT_TRUE(right_kernels(3));
      EXPECT_GE(compiles, 1) << "the kernel whose writer died was not published";
    }
  }
}

TEST_F(CacheProcessTest, CacheClearedWhileInUse) {
  EXPECT_TRUE(right_kernels(2));
  std::filesystem::remove_all(directory_.path);
  const KernelSource source = make_source("after clearing");
  EXPECT_NO_THROW(lookup(source, make_options()));
  EXPECT_TRUE(right_kernels(2)) << "from memory";
}

}  // namespace
}  // namespace kiln::runtime
