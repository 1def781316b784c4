// tests/fail/traced_std_max.cpp -- must not compile.
// expect: kl::maximum or kl::minimum for std::max and std::min
#include <kiln/kiln.h>

#include <algorithm>

namespace kl = kiln;

auto f(const kl::Array<float>& v) {
  // instead: auto g = kl::jit([](auto x, auto y) { return kl::maximum(x, y); });
  auto g = kl::jit([](auto x, auto y) { return std::max(x, y); });  // error
  return g(v, v);
}
