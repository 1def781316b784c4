// tests/fail/maximum_of_numbers.cpp -- must not compile.
// expect: of C++ numbers alone: std::exp(2.0f), std::fmax(a, b)
#include <kiln/kiln.h>

#include <cmath>
namespace kl = kiln;

auto f(float a) {
  // instead: return std::fmax(a, 1.0f);
  return kl::maximum(a, 1.0f);  // error
}
