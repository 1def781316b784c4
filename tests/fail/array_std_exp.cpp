// tests/fail/array_std_exp.cpp -- must not compile.
// expect: std::exp takes C++ numbers; of arrays, expressions and traced values: kl::exp
#include <kiln/kiln.h>

#include <cmath>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: return kl::eval(kl::exp(x));
  return kl::eval(std::exp(x));  // error
}
