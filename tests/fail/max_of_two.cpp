// tests/fail/max_of_two.cpp -- must not compile.
// expect: kl::maximum and kl::minimum take two arrays
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& x, kl::Array<float>& y) {
  // instead: kl::maximum(x, y);
  kl::max(x, y);  // error
}
