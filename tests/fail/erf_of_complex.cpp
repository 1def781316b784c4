// tests/fail/erf_of_complex.cpp -- must not compile.
// expect: not defined for complex operands
#include <complex>

#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<std::complex<float>>& x) {
  // instead: auto y = kl::erf(kl::real(x));
  auto y = kl::erf(x);  // error
}
