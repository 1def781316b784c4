// tests/fail/traced_element_added_to.cpp -- must not compile.
// expect: elements of a traced value are not assigned to
// wrote: a(0) += 1;
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  return kl::jit([](auto a) {
    // instead: return kl::where(kl::index(a, 0) == 0, a + 1, a);
    a(0) += 1;  // error
    return a;
  })(x);
}
