// tests/fail/std_signbit.cpp -- must not compile.
// expect: std::signbit takes C++ numbers; of arrays, expressions and traced values: kl::copysign(1.0f, x) < 0
#include <kiln/kiln.h>

#include <cmath>
namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: return kl::eval(kl::copysign(1.0f, x) < 0);
  return kl::eval(std::signbit(x));  // error
}
