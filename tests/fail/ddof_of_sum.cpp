// tests/fail/ddof_of_sum.cpp -- must not compile.
// expect: kl::ddof applies to kl::var and kl::std_ only
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& x) {
  // instead: kl::var(x, 0, kl::ddof(1));
  kl::sum(x, 0, kl::ddof(1));  // error
}
