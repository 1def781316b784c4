// tests/fail/traced_number_changes_type.cpp -- must not compile.
// expect: the operation changes the type of the traced number
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  return kl::jit([](auto a, auto s) {
    // instead: auto t = s * a; return a + t;
    s *= a;  // error
    return a + s;
  })(x, 2.0f);
}
