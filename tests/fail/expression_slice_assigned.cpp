// tests/fail/expression_slice_assigned.cpp -- must not compile.
// expect: an expression has no elements that could be assigned to
#include <kiln/kiln.h>

namespace kl = kiln;

void f(const kl::Array<float>& x) {
  auto e = x * 1;
  // instead: kl::Array<float> a = e; a(kl::range(0, 2)) = x(kl::range(3, 5)) * 1;
  e(kl::range(0, 2)) = x(kl::range(3, 5)) * 1;  // error
}
