// tests/fail/number_evaluated_beside.cpp -- must not compile.
// expect: kl::eval computes expressions and views
#include <kiln/kiln.h>

namespace kl = kiln;

void f(const kl::Array<float>& x) {
  // instead: auto both = kl::eval(x + 1, x * 2);
  auto both = kl::eval(x + 1, 2);  // error
}
