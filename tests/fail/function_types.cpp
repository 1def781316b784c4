// tests/fail/function_types.cpp -- must not compile.
// expect: parameters and result of a kl::function are numbers
#include <kiln/kiln.h>

namespace kl = kiln;

void f() {
  kl::function<float(const char*)>("g", {"a"}, "1.f");  // error
}
