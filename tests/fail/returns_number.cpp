// tests/fail/returns_number.cpp -- must not compile.
// expect: must return a traced value
// wrote: kl::jit([](auto) { return 3; })
// fix: kl::jit([](auto x) { return 0 * x + 3; })
#include <kiln/kiln.h>

namespace kl = kiln;

void f(const kl::Array<float>& v) {
  auto g = kl::jit([](auto) { return 3; });
  g(v);  // error
}
