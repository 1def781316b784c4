// tests/fail/const_array_assigned.cpp -- must not compile.
// expect: a const array cannot be assigned to
#include <kiln/kiln.h>

namespace kl = kiln;

void f(const kl::Array<float>& x, const kl::Array<float>& y) {
  // instead: const kl::Array<float> z = y;
  x = y;  // error
}
