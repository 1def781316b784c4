// tests/fail/traced_std_max_number.cpp -- must not compile.
// expect: std::max takes C++ numbers; of arrays, expressions and traced values: kl::maximum
#include <kiln/kiln.h>

#include <algorithm>

namespace kl = kiln;

auto f(const kl::Array<float>& v) {
  // instead: auto g = kl::jit([](auto x) { return kl::maximum(x, 0); });
  auto g = kl::jit([](auto x) { return std::max(x, 0); });  // error
  return g(v);
}
