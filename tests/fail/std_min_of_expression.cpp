// tests/fail/std_min_of_expression.cpp -- must not compile.
// expect: std::min takes C++ numbers; of arrays, expressions and traced values: kl::minimum
#include <kiln/kiln.h>

#include <algorithm>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: return kl::eval(kl::minimum(1, x + 1));
  return kl::eval(std::min(1, x + 1));  // error
}
