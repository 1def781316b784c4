// tests/fail/traced_looped_over.cpp -- must not compile.
// expect: a traced value has no elements yet
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  return kl::jit([](auto a) {
    auto b = a * 1;
    // instead:   b += kl::sum(a);
    for (auto v : a) b += v;  // error
    return b;
  })(x);
}
