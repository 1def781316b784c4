// tests/device/float_environment_test.cpp -- results do not depend on the rounding mode, the traps and the treatment of
// subnormal numbers of the thread that calls, and calls leave them as they were.
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <vector>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "tests/support/devices.h"

namespace {

class FloatEnvironment : public OnEachDevice {};
KILN_ON_EACH_DEVICE(FloatEnvironment);

constexpr std::int64_t count = 1'000'000;  // several chunks, of the caller and of workers

/// Restores what a test changes.
class Restored {
 public:
  Restored() { std::fegetenv(&saved_); }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;
  ~Restored() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
};

#if defined(__SSE__)
// Rule: subnormal numbers are kept (semantics), also where the host flushes its own to zero.
TEST_P(FloatEnvironment, subnormal_numbers_are_kept) {
  const kl::Array<float> x = kl::full({count}, 0x1p-149f);
  for (const bool warm : {false, true}) {
    const Restored restored;
    if (warm) (void)kl::eval(x + x);
    const unsigned flushing = _mm_getcsr() | 0x8040;  // FTZ and DAZ
    _mm_setcsr(flushing);
    const kl::Array<float> y = kl::eval(x + x);
    EXPECT_EQ(_mm_getcsr(), flushing);
    _mm_setcsr(0x1f80);
    const std::vector<float> got = y.to_host();
    EXPECT_EQ(std::count(got.begin(), got.end(), 0x1p-148f), count) << (warm ? "warm" : "cold");
  }
}
#endif

// Rule: results are rounded to nearest, whatever the caller's rounding mode.
TEST_P(FloatEnvironment, rounding_is_to_nearest) {
  const kl::Array<float> x = kl::ones<float>({count});
  const Restored restored;
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const kl::Array<float> above = kl::eval(x + 0x1p-30f), below = kl::eval(x - 0x1p-30f);
    EXPECT_EQ(std::fegetround(), mode);
    std::fesetround(FE_TONEAREST);
    const std::vector<float> up = above.to_host(), down = below.to_host();
    EXPECT_EQ(std::count(up.begin(), up.end(), 1.0f), count) << mode;
    EXPECT_EQ(std::count(down.begin(), down.end(), 1.0f), count) << mode;
  }
}

// Rule: the same for updates by index, which the host joins on the CPU device, and for numbers, which it converts to
// the type of the array.
TEST_P(FloatEnvironment, updates_by_index_and_numbers_round_to_nearest) {
  const kl::Array<std::int64_t> first = kl::zeros<std::int64_t>({2});
  const kl::Array<double> updates = kl::from_host(std::vector<double>{1.0, 0x1p-60});
  const kl::Array<float> x = kl::zeros<float>({3});
  const Restored restored;
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    kl::Array<double> sums = kl::zeros<double>({1});
    std::fesetround(mode);
    kl::scatter_add(sums, first, updates);
    const kl::Array<float> baked = x + kl::lit(0.1), given = x + 0.1;  // 0.1 has no exact form in f32
    EXPECT_EQ(std::fegetround(), mode);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(sums.item(), 1.0) << mode;
    EXPECT_EQ(baked.to_host(), std::vector<float>(3, 0.1f)) << mode;
    EXPECT_EQ(given.to_host(), std::vector<float>(3, 0.1f)) << mode;
  }
}

// Rule: division by zero, invalid operations and overflow have values; a kernel traps nowhere and raises no flag of the
// host, whatever the host traps.
TEST_P(FloatEnvironment, traps_and_flags_are_the_hosts) {
  const kl::Array<float> x = kl::full({count}, 3e38f), zero = kl::zeros<float>({count});
  const auto overflow = [&] { return kl::eval(x / zero + x * x); };
  const auto not_a_number = [&] { return kl::eval(zero / zero); };
  (void)overflow(), (void)not_a_number();  // compilers may use the flags
  const Restored restored;
  std::feclearexcept(FE_ALL_EXCEPT);
  ::feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
  const kl::Array<float> infinite = overflow(), invalid = not_a_number();
  ::fedisableexcept(FE_ALL_EXCEPT);
  EXPECT_EQ(std::fetestexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW), 0);
  EXPECT_TRUE(std::isinf(infinite.to_host().back()));
  EXPECT_TRUE(std::isnan(invalid.to_host().back()));
}

}  // namespace
