// tests/fail/changing_type.cpp -- must not compile.
// expect: changes the type of the traced value
#include <kiln/kiln.h>

namespace kl = kiln;

void f(const kl::Array<float>& v) {
  auto g = kl::jit([](auto x) {
    // instead: auto wide = x + kl::cast<double>(x);
    x += kl::cast<double>(x);  // error
    return x;
  });
  g(v);
}
