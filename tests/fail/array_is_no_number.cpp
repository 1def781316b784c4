// tests/fail/array_is_no_number.cpp -- must not compile.
// expect: Array<float>
#include <kiln/kiln.h>

namespace kl = kiln;

float f(kl::Array<float> x) {
  // instead: return x.item();
  float value = x;
  return value;  // error
}
