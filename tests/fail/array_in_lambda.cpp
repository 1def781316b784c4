// tests/fail/array_in_lambda.cpp -- must not compile.
// expect: pass arrays to the compiled function as arguments
// wrote: kl::jit([w](auto x) { return x * w; })(v)
// fix: kl::jit([](auto x, auto w) { return x * w; })(v, w)
#include <kiln/kiln.h>

namespace kl = kiln;

void f(const kl::Array<float>& v, const kl::Array<float>& w) {
  auto g = kl::jit([w](auto x) {
    auto z = x * w;  // error
    return x;
  });
  g(v);
}
