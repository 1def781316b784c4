// tests/fail/brackets.cpp -- must not compile.
// expect: elements and slices are taken in parentheses
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: return kl::eval(x(0));
  return kl::eval(x[0]);  // error
}
