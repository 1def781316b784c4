// tests/fail/bool_minus.cpp -- must not compile.
// expect: - is not defined for bool
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<bool>& x) {
  // instead: auto y = x != x;
  auto y = x - x;  // error
}
