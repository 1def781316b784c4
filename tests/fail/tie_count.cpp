// tests/fail/tie_count.cpp -- must not compile.
// expect: as many expressions as kl::tie names destinations
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& x, kl::Array<float>& s, kl::Array<float>& q) {
  // instead: kl::eval(kl::tie(s, q), x + 1, x + 2);
  kl::eval(kl::tie(s, q), x + 1);  // error
}
