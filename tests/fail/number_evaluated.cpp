// tests/fail/number_evaluated.cpp -- must not compile.
// expect: kl::eval computes expressions and views
#include <kiln/kiln.h>

namespace kl = kiln;

auto f() {
  // instead: return kl::full({1}, 3);
  return kl::eval(3);  // error
}
