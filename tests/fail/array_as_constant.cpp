// tests/fail/array_as_constant.cpp -- must not compile.
// expect: a kl::Const parameter takes a C++ number, and an array was given
// wrote: kl::jit([](auto a, kl::Const<float> b) { return a * b; })(x, y)
// fix: kl::jit([](auto a, auto b) { return a * b; })(x, y)
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x, const kl::Array<float>& y) {
  auto g = kl::jit([](auto a, kl::Const<float> b) { return a * b; });
  // instead: g(x, 2.0f); return y;
  return g(x, y);  // error
}
