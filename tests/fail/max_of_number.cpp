// tests/fail/max_of_number.cpp -- must not compile.
// expect: an axis is an integer; the larger of each element and a number is kl::maximum(x, 0.0f)
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: return kl::eval(kl::maximum(x, 0.f));
  return kl::eval(kl::max(x, 0.f));  // error
}
