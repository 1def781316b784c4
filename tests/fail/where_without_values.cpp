// tests/fail/where_without_values.cpp -- must not compile.
// expect: kl::where takes a condition and two values
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: auto r = kl::where(x > 0, x, 0);
  auto r = kl::where(x > 0, x);  // error
  return kl::eval(r);
}
