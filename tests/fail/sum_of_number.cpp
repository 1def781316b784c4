// tests/fail/sum_of_number.cpp -- must not compile.
// expect: a reduction needs an array, an expression or a traced value
#include <kiln/kiln.h>

namespace kl = kiln;

void f(float x) {
  x += 1;
  kl::sum(x);  // error
}
