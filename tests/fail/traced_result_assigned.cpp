// tests/fail/traced_result_assigned.cpp -- must not compile.
// expect: elements of a traced value are not assigned to
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  return kl::jit([](auto a) {
    auto b = a * 1;
    // instead:   b = kl::log(a);
    kl::exp(b) = a;  // error
    return b;
  })(x);
}
