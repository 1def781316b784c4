// tests/fail/reduce_changes_type.cpp -- must not compile.
// expect: the function of kl::reduce or kl::scan must return what it joins
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<int>& x) {
  kl::reduce(x, 0, 0, [](auto a, auto b) { return a + 0.5 * b; });  // error
}
