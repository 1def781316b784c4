// tests/fail/traced_if.cpp -- must not compile.
// expect: use kl::where
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& v) {
  auto g = kl::jit([](auto x) {
    // instead: return kl::where(x > 0, x + 1, x * 2);
    if (x > 0) return x + 1;  // error
    return x * 2;
  });
  return g(v);
}
