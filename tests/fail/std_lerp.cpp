// tests/fail/std_lerp.cpp -- must not compile.
// expect: std::lerp takes C++ numbers; of arrays, expressions and traced values: kl::fma(t, b - a, a)
#include <kiln/kiln.h>

#include <cmath>
namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: return kl::eval(kl::fma(0.5f, 2 * x - x, x));
  return kl::eval(std::lerp(x, 2 * x, 0.5f));  // error
}
