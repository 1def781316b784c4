// tests/fail/complex_less.cpp -- must not compile.
// expect: complex numbers have no order
#include <complex>

#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<std::complex<float>>& x) {
  // instead: auto y = kl::abs(x) < kl::abs(x);
  auto y = x < x;  // error
}
