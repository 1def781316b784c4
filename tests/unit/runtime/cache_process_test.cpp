// tests/unit/runtime/cache_process_test.cpp -- many processes on one cold cache (case C03).
#include <fcntl.h>
#include <unistd.h>

#include <barrier>
#include <cerrno>
#include <thread>

#include "runtime/cpu/cpu.h"
#include "runtime/cpu/image.h"
#include "tests/support/cpu_compiler.h"
#include "tests/unit/runtime/cache_children.h"

namespace kiln::runtime {
namespace {

using namespace test_support;

class CacheProcessTest : public CacheTest {
 protected:
  CacheProcessTest() : CacheTest(std::filesystem::temp_directory_path()) {}  // a disk, where the others use memory
};

constexpr int racers = 64;

TEST_F(CacheProcessTest, SixtyFourProcessesRaceOnAColdCache) {
  EXPECT_EQ(run_children(racers, [](int) { return right_kernels(5); }), racers);
  EXPECT_EQ(entries().size(), 5u) << "one entry per kernel and no temporary file";
  fresh_process();
  EXPECT_TRUE(right_kernels(5));
  EXPECT_EQ(compiles, 0);
}

TEST_F(CacheProcessTest, SixteenProcessesOfSixteenThreadsRaceOnAColdCache) {
  constexpr int processes = 16, threads = 16, kernels = 8;
  const int succeeded = run_children(processes, [](int) {
    std::barrier start(threads);
    std::atomic<int> right{0};
    std::vector<std::jthread> pool;
    for (int t = 0; t < threads; ++t) {
      pool.emplace_back([&, t] {
        start.arrive_and_wait();
        right += right_kernels(kernels, t);
      });
    }
    pool.clear();
    return right == threads && compiles <= kernels && cache_counters().disk_rejects == 0;
  });
  EXPECT_EQ(succeeded, processes);
  EXPECT_EQ(entries().size(), static_cast<std::size_t>(kernels)) << "one entry per kernel and no temporary file";
  fresh_process();
  EXPECT_TRUE(right_kernels(kernels));
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

TEST_F(CacheProcessTest, CacheClearedWhileInUse) {
  EXPECT_TRUE(right_kernels(2));
  std::filesystem::remove_all(directory_.path);
  const KernelSource source = make_source("after clearing");
  EXPECT_NO_THROW(lookup(source, make_options()));
  EXPECT_TRUE(right_kernels(2)) << "from memory";
}

}  // namespace
}  // namespace kiln::runtime
