// tests/fail/traced_becomes_bool.cpp -- must not compile.
// expect: a variable of a traced value keeps its type
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  return kl::jit([](auto a) {
    auto b = a * 1;
    // instead:   auto c = b > 1; (void)c;
    b = b > 1;  // error
    return b;
  })(x);
}
