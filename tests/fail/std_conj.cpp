// tests/fail/std_conj.cpp -- must not compile.
// expect: std::conj takes C++ numbers; of arrays, expressions and traced values: kl::conj
#include <kiln/kiln.h>

#include <complex>
namespace kl = kiln;

auto f(const kl::Array<std::complex<float>>& z) {
  // instead: return kl::eval(kl::conj(2 * z));
  return kl::eval(std::conj(2 * z));  // error
}
