// tests/fail/named_axis.cpp -- must not compile.
// expect: an axis is an integer; several stand in braces
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: return kl::eval(kl::sum(x, 0));
  return kl::eval(kl::sum(x, "rows"));  // error
}
