// tests/fail/float_shift.cpp -- must not compile.
// expect: << and >> need integer operands
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& x) {
  kl::Array<float> y;
  // instead: y = x * 4;
  y = x << 2;  // error
}
