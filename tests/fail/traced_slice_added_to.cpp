// tests/fail/traced_slice_added_to.cpp -- must not compile.
// expect: elements of a traced value are not assigned to
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  return kl::jit([](auto a) {
    auto b = a * 1;
    // instead:   b = kl::where(kl::index(a, 0) < 2, b + 100, b);
    b(kl::range(0, 2)) += 100;  // error
    return b;
  })(x);
}
