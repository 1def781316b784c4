// tests/fail/float_as_extent.cpp -- must not compile.
// expect: an extent, an axis or a displacement is an integer
#include <kiln/kiln.h>

namespace kl = kiln;

void f() {
  // instead: kl::Array<float> a({1, 2});
  kl::Array<float> a({1.5, 2});  // error
}
