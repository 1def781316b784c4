// tests/fail/const_array_filled.cpp -- must not compile.
// expect: a const array cannot be assigned to
#include <kiln/kiln.h>

namespace kl = kiln;

void f(const kl::Array<float>& x) {
  // instead: const kl::Array<float> z = kl::full(x.shape(), 1.0f);
  x = 1;  // error
}
