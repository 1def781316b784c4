// tests/fail/traced_element_copied.cpp -- must not compile.
// expect: elements of a traced value are not assigned to
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: return kl::jit([](auto a) { return kl::where(kl::index(a, 0) == 0, a(1), a); })(x);
  return kl::jit([](auto a) {
    a(0) = a(1);
    return a;
  })(x);  // error
}
