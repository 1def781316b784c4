// tests/fail/transpose_of_numbers.cpp -- must not compile.
// expect: a list of axes stands in braces: x.transpose({1, 0})
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: return kl::eval(x.transpose({1, 0}));
  return kl::eval(x.transpose(1, 0));  // error
}
