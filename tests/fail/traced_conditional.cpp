// tests/fail/traced_conditional.cpp -- must not compile.
// expect: use kl::where
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& v) {
  auto g = kl::jit([](auto x) {
    // instead: auto y = kl::where(x > 0, x, -x);
    auto y = x > 0 ? x : -x;  // error
    return x * 2;
  });
  return g(v);
}
