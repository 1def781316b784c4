// tests/fail/too_few_arguments.cpp -- must not compile.
// expect: give as many as it has parameters
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  const auto g = kl::jit([](auto a, auto b) { return a + b; });
  // instead: return g(x, x);
  return g(x);  // error
}
