// tests/fail/sum_to_number.cpp -- must not compile.
// expect: an expression is no number yet; .item() computes it and waits
#include <kiln/kiln.h>

namespace kl = kiln;

float f(const kl::Array<float>& x) {
  // instead: float v = kl::sum(x).item();
  float v = kl::sum(x);  // error
  return v;
}
