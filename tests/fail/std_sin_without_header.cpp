// tests/fail/std_sin_without_header.cpp -- must not compile.
// expect: a standard function of C++ numbers needs #include <cmath>, of std::complex <complex>
// fix: #include <cmath>
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  return kl::eval(x * std::sin(1.0f));  // error
}
