// tests/fail/std_ldexp.cpp -- must not compile.
// expect: std::ldexp takes C++ numbers; of arrays, expressions and traced values: kl::exp2(n) * x
#include <kiln/kiln.h>

#include <cmath>
namespace kl = kiln;

auto f(const kl::Array<float>& x, const kl::Array<float>& n) {
  // instead: return kl::eval(kl::exp2(n) * x);
  return kl::eval(std::ldexp(x, n));  // error
}
