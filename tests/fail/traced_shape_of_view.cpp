// tests/fail/traced_shape_of_view.cpp -- must not compile.
// expect: a traced value has no extents yet, so nothing can have its shape
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& v) {
  // instead: auto g = kl::jit([](auto x, auto y) { return x + y; });
  auto g = kl::jit([](auto x, auto y) { return x.broadcast_to(y.shape()) + y; });  // error
  return g(v, v);
}
