// tests/fail/const_view.cpp -- must not compile.
// expect: a View<const T> only reads
// fix: views of arrays that are not const: f(kl::Array<float>& x)
#include <kiln/kiln.h>

namespace kl = kiln;

void f(const kl::Array<float>& x, const kl::Array<float>& y) {
  x(kl::range(1, 3)) = y + 1;  // error
}
