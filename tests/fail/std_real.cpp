// tests/fail/std_real.cpp -- must not compile.
// expect: std::real takes C++ numbers; of arrays, expressions and traced values: kl::real
#include <kiln/kiln.h>

#include <complex>
namespace kl = kiln;

auto f(const kl::Array<std::complex<float>>& z) {
  // instead: return kl::eval(kl::real(z));
  return kl::eval(std::real(z));  // error
}
