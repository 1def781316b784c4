// tests/fail/function_count.cpp -- must not compile.
// expect: a kl::function is called with as many arguments as it has parameters
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(kl::Array<float>& x) {
  auto g = kl::function<float(float, float)>("g", {"a", "b"}, "a + b");
  kl::Array<float> bad = g(x);  // error
  return g(x, x);
}
