// support/float_environment.h -- floating-point results that do not depend on what the calling thread has set.
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace kiln {

/// While it lives, the thread rounds to nearest, keeps subnormal numbers and traps nowhere. Then all is as before, the
/// flags too.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;
#if defined(__SSE__)
  DefaultFloatEnvironment() : saved_(_mm_getcsr()) {
    _mm_setcsr(0x1f80);
  }  // MXCSR as processors start (Intel SDM 10.2.3)
  ~DefaultFloatEnvironment() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#else
  DefaultFloatEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatEnvironment() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
#endif
};

}  // namespace kiln
