// tests/fail/into_const_array.cpp -- must not compile.
// expect: a const array cannot be its destination
#include <kiln/kiln.h>

namespace kl = kiln;

void f(const kl::Array<float>& x, const kl::Array<float>& y) {
  // instead: const kl::Array<float> z = kl::jit([](auto a) { return a + 1; })(x);
  kl::jit([](auto a) { return a + 1; }).into(y)(x);  // error
}
