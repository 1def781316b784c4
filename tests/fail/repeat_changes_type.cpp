// tests/fail/repeat_changes_type.cpp -- must not compile.
// expect: the body of kl::repeat returns a state of another type than it was given
#include <kiln/kiln.h>
#include <kiln/repeat.h>

namespace kl = kiln;

void f(kl::Array<int>& x) {
  kl::jit([](auto v) { return kl::repeat(3, v, [](auto s) { return s * 0.5; }); })(x);  // error
}
