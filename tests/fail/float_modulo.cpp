// tests/fail/float_modulo.cpp -- must not compile.
// expect: % needs integer operands; use kl::fmod or kl::remainder
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& x) {
  // instead: kl::Array<float> y = kl::remainder(x, x);
  kl::Array<float> y = x % x;  // error
}
