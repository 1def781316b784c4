// tests/fail/reduce_identity.cpp -- must not compile.
// expect: the identity of kl::reduce or kl::scan is not a value of the elements' type
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<int>& x) {
  kl::reduce(x, 0, 0.5, [](auto a, auto b) { return a + b; });  // error
}
