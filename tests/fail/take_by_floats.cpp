// tests/fail/take_by_floats.cpp -- must not compile.
// expect: indices are integers
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& x, kl::Array<float>& i) {
  // instead: kl::take(x, kl::cast<int>(i), 0);
  kl::take(x, i, 0);  // error
}
