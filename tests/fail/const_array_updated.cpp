// tests/fail/const_array_updated.cpp -- must not compile.
// expect: what is const cannot be assigned to
#include <kiln/kiln.h>

namespace kl = kiln;

void f(const kl::Array<float>& x) {
  // instead: const kl::Array<float> z = x + 1;
  x += 1;  // error
}
