// tests/fail/repeat_state_count.cpp -- must not compile.
// expect: the body of kl::repeat returns as many states as it is given
#include <kiln/kiln.h>
#include <kiln/repeat.h>

namespace kl = kiln;

void f(kl::Array<float>& x) {
  auto g = kl::jit([](auto v) {
    auto [a, b] = kl::repeat(3, std::tuple(v, v), [](auto s, auto t) { return s + t; });  // error
    return a + b;
  });
  g(x);
}
