// tests/fail/vector_operand.cpp -- must not compile.
// expect: copy host memory with kl::from_host
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x, const std::vector<float>& host) {
  // instead: return kl::eval(x + kl::from_host(host));
  return kl::eval(x + host);  // error
}
