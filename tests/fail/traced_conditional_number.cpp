// tests/fail/traced_conditional_number.cpp -- must not compile.
// expect: use kl::where(condition, a, b)
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: return kl::jit([](auto a) { return kl::where(a, a, 1); })(x);
  return kl::jit([](auto a) { return a ? a : 1; })(x);  // error
}
