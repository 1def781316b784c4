// tests/fail/traced_element_assigned.cpp -- must not compile.
// expect: elements of a traced value are not assigned to; compute the new value: kl::where(kl::index(a, 0) == 0, 1, a)
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: return kl::jit([](auto a) { return kl::where(kl::index(a, 0) == 0, 1, a); })(x);
  return kl::jit([](auto a) {
    a(0) = 1;
    return a;
  })(x);  // error
}
