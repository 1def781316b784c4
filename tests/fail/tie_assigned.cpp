// tests/fail/tie_assigned.cpp -- must not compile.
// expect: a tuple of arrays is assigned to std::tie(a, b)
#include <kiln/kiln.h>

namespace kl = kiln;

void f(const kl::Array<float>& x, kl::Array<float>& a, kl::Array<float>& b) {
  auto g = kl::jit([](auto v) { return std::tuple(v, v * 2); });
  // instead: std::tie(a, b) = g(x);
  kl::tie(a, b) = g(x);  // error
}
