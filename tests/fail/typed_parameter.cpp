// tests/fail/typed_parameter.cpp -- must not compile.
// expect: declare each parameter auto (arrays and run-time numbers) or kl::Const<T>
// wrote: kl::jit([](auto x, float eps) { return x + eps; })
// fix: kl::jit([](auto x, auto eps) { return x + eps; })
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& v) {
  auto g = kl::jit([](auto x, float eps) { return x + eps; });
  g(v, 1e-5f);  // error
  return g.name();
}
