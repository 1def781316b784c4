// tests/fail/vector_in_lambda.cpp -- must not compile.
// expect: copy host memory with kl::from_host
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x, const std::vector<float>& host) {
  // instead: return kl::jit([](auto a, auto b) { return a + b; })(x, kl::from_host(host));
  return kl::jit([&host](auto a) { return a + host; })(x);  // error
}
