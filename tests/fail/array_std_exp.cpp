// tests/fail/array_std_exp.cpp -- must not compile.
// expect: no matching function for call to
// lines: 30
#include <kiln/kiln.h>

#include <cmath>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: return kl::eval(kl::exp(x));
  return kl::eval(std::exp(x));  // error
}
