// tests/fail/function_narrows.cpp -- must not compile.
// expect: an argument of a kl::function has more than its parameter's type holds
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(kl::Array<float>& x, kl::Array<int>& i) {
  auto g = kl::function<int(int)>("g", {"a"}, "a + 1");
  g(x);  // error
  return g(i);
}
