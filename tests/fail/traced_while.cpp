// tests/fail/traced_while.cpp -- must not compile.
// expect: use kl::where
// fix: for a number of steps known on the host, a C++ loop; else kl::where in each step
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& v) {
  auto g = kl::jit([](auto x, auto n) {
    while (n > 0) n = n - 1;  // error
    return x * n;
  });
  return g(v, 3.0f);
}
