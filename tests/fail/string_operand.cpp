// tests/fail/string_operand.cpp -- must not compile.
// expect: not an array, an expression, a traced value or a C++ number
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& x) {
  // instead: auto y = x + 1;
  auto y = x + "1";  // error
}
