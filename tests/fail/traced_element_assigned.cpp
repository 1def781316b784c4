// tests/fail/traced_element_assigned.cpp -- must not compile.
// expect: elements of a traced value are not assigned to; compute the new value: kl::where(kl::index(a, 0) == 0, 1, a)
// wrote: a(0) = 1;
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  return kl::jit([](auto a) {
    // instead: return kl::where(kl::index(a, 0) == 0, 1, a);
    a(0) = 1;  // error
    return a;
  })(x);
}
