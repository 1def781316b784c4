// tests/fail/traced_becomes_number.cpp -- must not compile.
// expect: a variable of a traced value keeps its type
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  return kl::jit([](auto a) {
    auto b = a * 1;
    // instead:   b = kl::where(true, 1, b);
    b = 1;  // error
    return b;
  })(x);
}
