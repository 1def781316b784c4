// tests/fail/float_complement.cpp -- must not compile.
// expect: & | ^ ~ need bool or integer operands
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<double>& x) {
  auto y = ~x;  // error
}
