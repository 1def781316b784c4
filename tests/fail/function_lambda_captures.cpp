// tests/fail/function_lambda_captures.cpp -- must not compile.
// expect: the lambda of kl::function must not capture anything
#include <kiln/kiln.h>

namespace kl = kiln;

void f(float s) {
  s += 1;
  kl::function("g", [s](auto a) { return a * s; });  // error
}
