// runtime/cpu/float_environment.h -- kernels compute by the rules of kiln, whatever the thread that runs them has set.
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace kiln::runtime {

/// While it lives: rounding to nearest, subnormal numbers kept, no traps. Then all is as before, the flags too.
class KernelFloatEnvironment {
 public:
  KernelFloatEnvironment(const KernelFloatEnvironment&) = delete;
  KernelFloatEnvironment& operator=(const KernelFloatEnvironment&) = delete;
#if defined(__SSE__)
  KernelFloatEnvironment() : saved_(_mm_getcsr()) {
    _mm_setcsr(0x1f80);
  }  // MXCSR as processors start (Intel SDM 10.2.3)
  ~KernelFloatEnvironment() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#else
  KernelFloatEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~KernelFloatEnvironment() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
#endif
};

}  // namespace kiln::runtime
