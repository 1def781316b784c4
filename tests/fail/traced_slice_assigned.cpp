// tests/fail/traced_slice_assigned.cpp -- must not compile.
// expect: elements of a traced value are not assigned to
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  return kl::jit([](auto a) {
    auto b = a * 1;
    // instead:   b = kl::where(kl::index(a, 0) < 2, kl::shift(a, -3, kl::clamp), b);
    b(kl::range(0, 2)) = a(kl::range(3, 5));  // error
    return b;
  })(x);
}
