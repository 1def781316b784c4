// tests/fail/returns_number.cpp -- must not compile.
// expect: must return a traced value
#include <kiln/kiln.h>

namespace kl = kiln;

void f(const kl::Array<float>& v) {
  auto g = kl::jit([](auto) { return 3; });
  g(v);  // error
}
