// tests/fail/traced_std_exp.cpp -- must not compile.
// expect: std::exp takes C++ numbers; of arrays, expressions and traced values: kl::exp
#include <kiln/kiln.h>

#include <cmath>

namespace kl = kiln;

auto f(const kl::Array<float>& v) {
  // instead: auto g = kl::jit([](auto x) { return kl::exp(x); });
  auto g = kl::jit([](auto x) { return std::exp(x); });  // error
  return g(v);
}
