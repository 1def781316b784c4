// tests/fail/array_is_no_number.cpp -- must not compile.
// expect: Array<float>
// wrote: float value = x;
// fix: float value = x.item();
#include <kiln/kiln.h>

namespace kl = kiln;

float f(kl::Array<float> x) {
  // instead: return x.item();
  return x;  // error
}
