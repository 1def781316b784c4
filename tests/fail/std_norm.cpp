// tests/fail/std_norm.cpp -- must not compile.
// expect: std::norm takes C++ numbers; of arrays, expressions and traced values: kl::real(z * kl::conj(z))
#include <kiln/kiln.h>

#include <complex>
namespace kl = kiln;

auto f(const kl::Array<std::complex<float>>& z) {
  // instead: return kl::eval(kl::real(z * kl::conj(z)));
  return kl::eval(std::norm(z));  // error
}
