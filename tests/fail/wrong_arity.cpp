// tests/fail/wrong_arity.cpp -- must not compile.
// expect: this function takes two operands
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& x) {
  // instead: auto y = kl::atan2(x, x);
  auto y = kl::atan2(x);  // error
}
