// tests/fail/traced_transpose_multiplied.cpp -- must not compile.
// expect: elements of a traced value are not assigned to
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  return kl::jit([](auto a) {
    auto b = a * 1;
    // instead:   b *= 2;
    b.t() *= 2;  // error
    return b;
  })(x);
}
