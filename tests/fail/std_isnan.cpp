// tests/fail/std_isnan.cpp -- must not compile.
// expect: std::isnan takes C++ numbers; of arrays, expressions and traced values: kl::isnan
#include <kiln/kiln.h>

#include <cmath>
namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: return kl::eval(kl::isnan(x + 1));
  return kl::eval(std::isnan(x + 1));  // error
}
