// tests/fail/array_of_one_float.cpp -- must not compile.
// expect: an array is made of its extents
#include <kiln/kiln.h>

namespace kl = kiln;

void f() {
  // instead: kl::Array<float> a = kl::full({1}, 2.5f);
  kl::Array<float> a(2.5);  // error
}
