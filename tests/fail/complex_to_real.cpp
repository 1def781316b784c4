// tests/fail/complex_to_real.cpp -- must not compile.
// expect: a complex value does not convert to a real type
#include <complex>

#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<std::complex<float>>& x, kl::Array<float>& y) {
  // instead: y = kl::real(x * 2);
  y = x * 2;  // error
}
