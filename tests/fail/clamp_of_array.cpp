// tests/fail/clamp_of_array.cpp -- must not compile.
// expect: std::clamp takes C++ numbers; of arrays, expressions and traced values: kl::clip
#include <kiln/kiln.h>

#include <algorithm>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: return kl::eval(kl::clip(x, 0, 1));
  return kl::eval(std::clamp(x, 0, 1));  // error
}
