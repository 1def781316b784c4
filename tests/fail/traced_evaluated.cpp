// tests/fail/traced_evaluated.cpp -- must not compile.
// expect: a traced value is not evaluated; return it
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: return kl::jit([](auto a) { return a + 1; })(x);
  return kl::jit([](auto a) { return kl::eval(a + 1); })(x);  // error
}
