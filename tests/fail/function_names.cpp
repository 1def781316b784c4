// tests/fail/function_names.cpp -- must not compile.
// expect: kl::function needs one name for each parameter
#include <kiln/kiln.h>

namespace kl = kiln;

void f() {
  kl::function<float(float, float)>("g", {"a"}, "a");  // error
}
