// tests/unit/runtime/nvrtc_fork_test.cpp -- children that are forked while another thread is inside of NVRTC.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "runtime/runtime.h"
#include "support/check.h"
#ifdef KILN_FAKE_CUDA
#include "runtime/cuda/nvrtc_search.h"

namespace kiln::runtime {
namespace {

KernelSource short_kernel() {
  KernelSource source;
  source.text = "extern \"C\" __global__ void scale(float* x) { x[threadIdx.x] *= 2.0f; }\n";
  source.entry = "scale";
  source.argument_bytes = 8;
  source.max_threads = 256;
  return source;
}

/// Some seconds of NVRTC's time: each sine is inlined with its branches.
KernelSource long_kernel() {
  KernelSource source = short_kernel();
  source.text = "extern \"C\" __global__ void scale(double* x) {\n  double v = x[threadIdx.x];\n";
  for (int i = 0; i < 120; ++i) source.text += "  v = sin(v) + tan(v * 3.0);\n";
  source.text += "  x[threadIdx.x] = v;\n}\n";
  return source;
}

CompileOptions sm_90() {
  CompileOptions options;
  options.arch = "sm_90";
  return options;
}

enum Outcome : int { compiled = 10, told = 11, other_text = 12 };

int compile_in_child() {
  try {
    compile(short_kernel(), sm_90(), false);
    return compiled;
  } catch (const CompileError& error) {
    return std::strstr(error.what(), "it was forked while another thread compiled one") ? told : other_text;
  }
}

// Rule: a compiler that another thread was inside of is not used in the child: it is told so at once, and what to do.
// Before and after that compile children have a compiler, and the parent always.
TEST(NvrtcFork, AChildOfACompilingProcessIsToldSo) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers do not outlive a fork of several threads";
#endif
  if (cuda::search_nvrtc(cuda::nvrtc_places()).found.empty()) GTEST_SKIP() << "no NVRTC here";
  compile(short_kernel(), sm_90(), false);  // loads it
  std::atomic<bool> done{false};
  std::thread compiling([&] {
    compile(long_kernel(), sm_90(), false);
    done = true;
  });
  ::usleep(100'000);
  int children_told = 0;
  for (int child = 0; child < 3 && !done; ++child) {
    const pid_t process = ::fork();
    if (process == 0) {
      ::alarm(20);
      ::_exit(compile_in_child());
    }
    int status = 0;
    ::waitpid(process, &status, 0);
    ASSERT_TRUE(WIFEXITED(status)) << "child ended by signal " << WTERMSIG(status);
    if (WEXITSTATUS(status) == compiled)
      EXPECT_TRUE(done.load()) << "used what another thread was changing";
    else
      EXPECT_EQ(WEXITSTATUS(status), told);
    children_told += WEXITSTATUS(status) == told;
  }
  compiling.join();
  EXPECT_GT(children_told, 0);
  EXPECT_NO_THROW(compile(short_kernel(), sm_90(), false));
  const pid_t process = ::fork();
  if (process == 0) {
    ::alarm(20);
    ::_exit(compile_in_child());
  }
  int status = 0;
  ::waitpid(process, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == compiled) << "nobody was inside of NVRTC";
}

}  // namespace
}  // namespace kiln::runtime
#endif
