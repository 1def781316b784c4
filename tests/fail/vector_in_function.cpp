// tests/fail/vector_in_function.cpp -- must not compile.
// expect: copy host memory with kl::from_host
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const std::vector<float>& host) {
  // instead: return kl::eval(kl::sqrt(kl::from_host(host)));
  return kl::sqrt(host);  // error
}
