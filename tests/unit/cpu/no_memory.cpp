// tests/unit/cpu/no_memory.cpp -- the system refuses the memory of a kernel's code (case F03): an error that says so,
// nothing is left behind, and the next kernel loads.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include <kiln/error.h>

#include "tests/unit/cpu/kernel_runner.h"

namespace kiln::test {
namespace {

/// No more address space than is in use, while it lives.
class NoMoreMemory {
 public:
  NoMoreMemory() {
    getrlimit(RLIMIT_AS, &before_);
    rlimit none = before_;
    none.rlim_cur = 1 << 20;  // less than is mapped: every mapping is refused
    holds_ = setrlimit(RLIMIT_AS, &none) == 0;
  }
  NoMoreMemory(const NoMoreMemory&) = delete;
  NoMoreMemory& operator=(const NoMoreMemory&) = delete;
  ~NoMoreMemory() { setrlimit(RLIMIT_AS, &before_); }
  bool holds() const { return holds_; }

 private:
  rlimit before_ = {};
  bool holds_ = false;
};

/// exp(1) by an image that is loaded anew.
float run_once(const CompiledKernel& kernel) {
  std::vector<float> x(33, 1.0f), y(33);
  CallArguments call;
  call.pointers = {x.data(), y.data()};
  call.extents = {33};
  const std::vector<char> block = kernel.block(call);
  const runtime::CpuImage image(kernel.binary.image);
  image.entry()(block.data(), 0, 33, runtime::libm_table());
  return y[32];
}

std::string message_without_memory(const std::vector<char>& image) {
  const NoMoreMemory none;
  if (!none.holds()) return "no limit";
  try {
    const runtime::CpuImage loaded{image};
  } catch (const OutOfMemory& error) {
    return error.what();
  }
  return "no error";
}

TEST(CpuNoMemory, AMappingThatIsRefusedIsAnErrorOfThatKernelAlone) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need address space themselves";
#endif
  const CompiledKernel kernel(operation_kernel(Op::exp, 1, DType::f32, DType::f32));
  for (int round = 0; round < 100; ++round) {
    const std::string message = message_without_memory(kernel.binary.image);
    if (message == "no limit") GTEST_SKIP() << "no limit of the address space can be set here";
    ASSERT_NE(message.find("no memory for a CPU kernel of"), std::string::npos) << message;
    ASSERT_NEAR(run_once(kernel), 2.7182818f, 1e-6f) << round;
  }
}

constexpr int refused_as_told = 0, no_error = 1, other_message = 2, left_a_mapping = 3, cannot_be_tested = 4;

/// From now on this process may not make memory executable.
int load_where_code_is_forbidden(const std::vector<char>& image) {
#ifdef PR_SET_MDWE
  constexpr unsigned long refuse_exec_gain = 1;
  if (prctl(PR_SET_MDWE, refuse_exec_gain, 0L, 0L, 0L) != 0) return cannot_be_tested;
#else
  constexpr int set_mdwe = 65;  // Linux 6.3
  if (prctl(set_mdwe, 1L, 0L, 0L, 0L) != 0) return cannot_be_tested;
#endif
  void* const before = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(before, 4096);
  try {
    const runtime::CpuImage loaded{image};
    return no_error;
  } catch (const DeviceError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    if (!std::string(error.what()).starts_with("the system refuses executable memory")) return other_message;
  }
  void* const after = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return before == after ? refused_as_told : left_a_mapping;
}

TEST(CpuNoMemory, ExecutableMemoryThatIsRefusedIsAnError) {
  const CompiledKernel kernel(operation_kernel(Op::exp, 1, DType::f32, DType::f32));
  const pid_t child = fork();
  if (child == 0) _exit(load_where_code_is_forbidden(kernel.binary.image));
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  const int result = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (result == cannot_be_tested) GTEST_SKIP() << "this system cannot forbid executable memory (PR_SET_MDWE)";
  EXPECT_EQ(result, refused_as_told) << left_a_mapping << ": the memory was not given back";
  EXPECT_NEAR(run_once(kernel), 2.7182818f, 1e-6f) << "elsewhere";
}

}  // namespace
}  // namespace kiln::test
