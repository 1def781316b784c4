// tests/fail/reshape_of_numbers.cpp -- must not compile.
// expect: a shape stands in braces
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: return kl::eval(x.reshape({3, 4}));
  return kl::eval(x.reshape(3, 4));  // error
}
