// tests/fail/array_of_numbers.cpp -- must not compile.
// expect: a shape stands in braces: kl::Array<float> a({3, 4})
#include <kiln/kiln.h>

namespace kl = kiln;

auto f() {
  // instead: return kl::Array<float>({3, 4});
  return kl::Array<float>(3, 4);  // error
}
