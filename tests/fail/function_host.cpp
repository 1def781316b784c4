// tests/fail/function_host.cpp -- must not compile.
// expect: the host version of a kl::function must be callable as const with its parameters
#include <kiln/kiln.h>

namespace kl = kiln;

void f() {
  kl::function<float(float, float)>("g", {"a", "b"}, "a", [](float a) { return a; });  // error
}
