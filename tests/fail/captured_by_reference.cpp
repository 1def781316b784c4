// tests/fail/captured_by_reference.cpp -- must not compile.
// expect: pass arrays to the compiled function as arguments
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x, const kl::Array<float>& y) {
  // instead: return kl::jit([](auto a, auto b) { return a + b; })(x, y);
  return kl::jit([&y](auto a) { return a + y; })(x);  // error
}
