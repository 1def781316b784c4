// tests/fail/arange_of_no_type.cpp -- must not compile.
// expect: the element type is written in front: kl::arange<int>(0, n)
#include <kiln/kiln.h>

namespace kl = kiln;

auto f() {
  // instead: return kl::arange<int>(10);
  return kl::arange(10);  // error
}
