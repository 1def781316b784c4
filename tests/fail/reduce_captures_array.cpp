// tests/fail/reduce_captures_array.cpp -- must not compile.
// expect: pass arrays to the compiled function as arguments
#include <kiln/kiln.h>

#include <tuple>

namespace kl = kiln;

void f(kl::Array<float>& x, kl::Array<float>& w) {
  // instead: kl::reduce(w * x, 0, 0.0f, [](auto a, auto b) { return a + b; });
  kl::reduce(x, 0, 0.0f, [w = kl::View<float>(w)](auto a, auto b) { return a + w * b; });  // error
}
