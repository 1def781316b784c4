// tests/fail/max_of_complex.cpp -- must not compile.
// expect: complex numbers have no order; reduce kl::abs or kl::real of them
#include <complex>

#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<std::complex<float>>& z) {
  // instead: kl::max(kl::abs(z), 0);
  kl::max(z, 0);  // error
}
