// tests/fail/returns_nothing.cpp -- must not compile.
// expect: returns nothing; return the value to store
// wrote: kl::jit([](auto x) { auto y = x * 2; })
// fix: kl::jit([](auto x) { return x * 2; })
#include <kiln/kiln.h>

namespace kl = kiln;

void f(const kl::Array<float>& v) {
  auto g = kl::jit([](auto x) { auto y = x * 2; });
  g(v);  // error
}
