// tests/fail/reduce_captures.cpp -- must not compile.
// expect: the function of kl::reduce or kl::scan must not capture anything
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& x, float s) {
  s += 1;
  kl::reduce(x, 0, 0.0f, [s](auto a, auto b) { return a + s * b; });  // error
}
