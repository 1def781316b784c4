// tests/unit/runtime/cache_process_test.cpp -- many processes on one cold cache, writers killed at work (case C03).
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "runtime/cpu/cpu.h"
#include "runtime/cpu/image.h"
#include "tests/support/cpu_compiler.h"
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
        alarm(100);
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

constexpr int racers = 64;

TEST_F(CacheProcessTest, SixtyFourProcessesRaceOnAColdCache) {
  EXPECT_EQ(run_children(racers, [](int) { return right_kernels(5); }), racers);
  EXPECT_EQ(entries().size(), 5u) << "one entry per kernel and no temporary file";
  fresh_process();
  EXPECT_TRUE(right_kernels(5));
  EXPECT_EQ(compiles, 0);
}

/// A third of the writers cannot rename, another third loses the directory after its first kernel.
int racer, opened;
int fault_of_racer(files::Step step, const char*) {
  constexpr int errors[] = {EEXIST, ENOENT, EXDEV};
  if (racer % 3 == 1 && step == files::Step::rename) return errors[racer / 3 % 3];
  if (racer % 3 == 2 && step == files::Step::open_write && ++opened > 1) return EROFS;
  return 0;
}

TEST_F(CacheProcessTest, RacersThatCannotPublishUseTheirOwnKernels) {
  const int succeeded = run_children(racers, [](int i) {
    racer = i;
    files::set_fault_hook(fault_of_racer);
    return right_kernels(5);
  });
  EXPECT_EQ(succeeded, racers);
  EXPECT_EQ(entries().size(), 5u) << "whoever could has published, and the others left no temporary file";
}

/// Five kernels for the CPU that add 0 to 4 to the number of each element, compiled by LLVM and run.
bool right_cpu_kernels() {
  for (std::int64_t k = 0; k < 5; ++k) {
    KernelSource source;
    source.language = Language::llvm_ir;
    source.entry = "count";
    source.text = fmt::format(
        "define void @count(ptr %arguments, i64 %begin, i64 %end, ptr %libm) {{\nentry:\n"
        "  %out = load ptr, ptr %arguments\n  br label %loop\nloop:\n"
        "  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]\n  %p = getelementptr i64, ptr %out, i64 %i\n"
        "  %v = add i64 %i, {}\n  store i64 %v, ptr %p\n  %next = add i64 %i, 1\n"
        "  %more = icmp slt i64 %next, %end\n  br i1 %more, label %loop, label %exit\nexit:\n  ret void\n}}\n",
        k);
    const CpuImage image(cached_binary(source, make_options(cpu_arch()))->image);
    std::vector<std::int64_t> out(100, -1);
    void* const pointer = out.data();
    image.entry()(&pointer, 0, 100, nullptr);
    for (std::int64_t i = 0; i < 100; ++i) {
      if (out[static_cast<std::size_t>(i)] != i + k) return false;
    }
  }
  return true;
}

TEST_F(CacheProcessTest, ForkedProcessesCompileForTheCpuAtOnce) {
  KILN_NEEDS_CPU_COMPILER();
  use_compiler_for_tests(nullptr);
  test::Variable off("KILN_CACHE", "off");
  ASSERT_TRUE(right_cpu_kernels()) << "the compiler is in use before the processes are forked";
  reset_binary_cache();
  test::Variable on("KILN_CACHE", "on");
  EXPECT_EQ(run_children(racers, [](int) { return right_cpu_kernels(); }), racers);
  EXPECT_EQ(entries().size(), 5u);
}

// Run by the test below, as a program of its own.
TEST(CacheProcessChild, DISABLED_CompilesForTheCpu) { EXPECT_TRUE(right_cpu_kernels()); }

TEST_F(CacheProcessTest, ProgramsStartedTogetherCompileForTheCpuAtOnce) {
  KILN_NEEDS_CPU_COMPILER();
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const int succeeded = run_children(racers, [&program](int) {
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);  // 64 reports of one test
    execl(program.c_str(), program.c_str(), "--gtest_also_run_disabled_tests", "--gtest_brief=1",
          "--gtest_filter=CacheProcessChild.DISABLED_CompilesForTheCpu", nullptr);
    return false;
  });
  EXPECT_EQ(succeeded, racers);
  EXPECT_EQ(entries().size(), 5u);
}

files::Step deadly_step;
int deadly_countdown;
int kill_at(files::Step step, const char*) {
  if (step == deadly_step && --deadly_countdown == 0) kill(getpid(), SIGKILL);
  return 0;
}

TEST_F(CacheProcessTest, WritersKilledAtAnyStepLeaveAWorkingCache) {
  for (const files::Step step : {files::Step::open_write, files::Step::write, files::Step::close, files::Step::rename}) {
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
