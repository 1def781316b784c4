// tests/fail/vector_argument.cpp -- must not compile.
// expect: copy host memory with kl::from_host
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x, const std::vector<float>& host) {
  const auto g = kl::jit([](auto a, auto b) { return a + b; });
  // instead: return g(x, kl::from_host(host));
  return g(x, host);  // error
}
