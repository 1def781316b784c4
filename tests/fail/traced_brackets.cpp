// tests/fail/traced_brackets.cpp -- must not compile.
// expect: elements and slices are taken in parentheses
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: return kl::jit([](auto a) { return a(0); })(x);
  return kl::jit([](auto a) { return a[0]; })(x);  // error
}
