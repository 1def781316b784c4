// tests/fail/cast_of_number.cpp -- must not compile.
// expect: of C++ numbers alone: std::exp(2.0f), std::fmax(a, b), static_cast<float>(n)
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(int n) {
  // instead: return static_cast<float>(n);
  return kl::cast<float>(n);  // error
}
