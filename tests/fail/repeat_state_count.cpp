// tests/fail/repeat_state_count.cpp -- must not compile.
// expect: the body of kl::repeat returns as many states as it is given
#include <kiln/kiln.h>
#include <kiln/repeat.h>

namespace kl = kiln;

void f(kl::Array<float>& x) {
  kl::jit([](auto v) { return kl::repeat(3, std::tuple(v, v), [](auto s, auto t) { return s + t; }); })(x);  // error
}
