// tests/fail/expression_slice_added_to.cpp -- must not compile.
// expect: an expression has no elements that could be changed
#include <kiln/kiln.h>

namespace kl = kiln;

void f(const kl::Array<float>& x) {
  auto e = x * 2;
  // instead: kl::Array<float> a = e; a(kl::range(0, 2)) += 1;
  e(kl::range(0, 2)) += 1;  // error
}
