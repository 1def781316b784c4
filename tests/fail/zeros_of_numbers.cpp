// tests/fail/zeros_of_numbers.cpp -- must not compile.
// expect: a shape stands in braces: kl::zeros<float>({3, 4})
#include <kiln/kiln.h>

namespace kl = kiln;

auto f() {
  // instead: return kl::zeros<float>({3, 4});
  return kl::zeros<float>(3, 4);  // error
}
