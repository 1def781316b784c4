// tests/fail/traced_item.cpp -- must not compile.
// expect: .item() is for the result of the compiled function
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& v) {
  // instead: auto g = kl::jit([](auto x) { return x / kl::max(x); });
  auto g = kl::jit([](auto x) { return x / kl::max(x).item(); });  // error
  return g(v);
}
