// tests/fail/full_of_numbers.cpp -- must not compile.
// expect: a shape stands in braces
#include <kiln/kiln.h>

namespace kl = kiln;

auto f() {
  // instead: return kl::full({3, 4}, 1.0f);
  return kl::full(3, 4, 1.0f);  // error
}
