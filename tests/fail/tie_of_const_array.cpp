// tests/fail/tie_of_const_array.cpp -- must not compile.
// expect: kl::tie names arrays that are not const
#include <kiln/kiln.h>

namespace kl = kiln;

void f(const kl::Array<float>& x, kl::Array<float>& y) {
  // instead: kl::eval(kl::tie(y), x * 2);
  kl::eval(kl::tie(x, y), x + 1, x * 2);  // error
}
