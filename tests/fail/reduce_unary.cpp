// tests/fail/reduce_unary.cpp -- must not compile.
// expect: the function of kl::reduce or kl::scan must take two values
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& x) {
  // instead: kl::reduce(x, 0, 0, [](auto a, auto b) { return a + b; });
  kl::reduce(x, 0, 0, [](auto a) { return a; });  // error
}
