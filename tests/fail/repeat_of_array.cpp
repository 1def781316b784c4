// tests/fail/repeat_of_array.cpp -- must not compile.
// expect: kl::repeat works inside of a kl::jit function
#include <kiln/kiln.h>
#include <kiln/repeat.h>

namespace kl = kiln;

void f(kl::Array<float>& x) {
  kl::repeat(3, x, [](auto s) { return s + 1.0f; });  // error
}
