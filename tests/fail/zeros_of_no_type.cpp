// tests/fail/zeros_of_no_type.cpp -- must not compile.
// expect: the element type is written in front: kl::zeros<float>({rows, columns})
#include <kiln/kiln.h>

namespace kl = kiln;

auto f() {
  // instead: return kl::zeros<float>({3, 4});
  return kl::zeros({3, 4});  // error
}
