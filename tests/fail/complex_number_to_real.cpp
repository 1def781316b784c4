// tests/fail/complex_number_to_real.cpp -- must not compile.
// expect: a complex value does not convert to a real type
#include <kiln/kiln.h>

#include <complex>

namespace kl = kiln;

void f(kl::Array<float>& x) {
  // instead: x = std::real(std::complex<float>(1, 2));
  x = std::complex<float>(1, 2);  // error
}
