// tests/fail/expression_added_to.cpp -- must not compile.
// expect: an expression has no elements that could be changed
#include <kiln/kiln.h>

namespace kl = kiln;

void f(const kl::Array<float>& x, const kl::Array<float>& y) {
  // instead: kl::Array<float> z = x + y; z += y;
  (x + y) += y;  // error
}
