// tests/fail/traced_std_pow.cpp -- must not compile.
// expect: std::pow takes C++ numbers; of arrays, expressions and traced values: kl::pow
#include <kiln/kiln.h>

#include <cmath>

namespace kl = kiln;

auto f(const kl::Array<float>& v) {
  // instead: auto g = kl::jit([](auto x) { return kl::pow(2.0f, x); });
  auto g = kl::jit([](auto x) { return std::pow(2.0f, x); });  // error
  return g(v);
}
