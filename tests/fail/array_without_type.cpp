// tests/fail/array_without_type.cpp -- must not compile.
// expect: the element type is written in front: kl::Array<float> a({2, 3})
#include <kiln/kiln.h>

namespace kl = kiln;

void f() {
  // instead: kl::Array<float> a({2});
  kl::Array a({2});  // error
}
