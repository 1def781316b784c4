// tests/fail/repeat_without_traced.cpp -- must not compile.
// expect: kl::repeat needs a traced value among its states
#include <kiln/kiln.h>
#include <kiln/repeat.h>

namespace kl = kiln;

void f(kl::Array<float>& x) {
  kl::jit([](auto v) { return kl::repeat(3, 0.0f, [&](auto s) { return s + v; }) * v; })(x);  // error
}
