// tests/fail/expression_result_assigned.cpp -- must not compile.
// expect: an expression has no elements that could be assigned to
#include <kiln/kiln.h>

namespace kl = kiln;

void f(const kl::Array<float>& x) {
  // instead: auto e = kl::exp(x);
  kl::exp(x) = kl::exp(x);  // error
}
