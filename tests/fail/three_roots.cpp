// tests/fail/three_roots.cpp -- must not compile.
// expect: this function takes one operand
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& x) {
  // instead: auto y = kl::sqrt(x) + kl::sqrt(x);
  auto y = kl::sqrt(x, x);  // error
}
