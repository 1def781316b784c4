// tests/fail/launch_by_number.cpp -- must not compile.
// expect: what a launch is told has names: f[{.block = 256}](x)
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  auto g = kl::jit([](auto v) { return v * 2; });
  // instead: return g[{.block = 256}](x);
  return g[256](x);  // error
}
