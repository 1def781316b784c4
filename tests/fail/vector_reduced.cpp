// tests/fail/vector_reduced.cpp -- must not compile.
// expect: copy host memory with kl::from_host
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const std::vector<float>& host) {
  // instead: return kl::sum(kl::from_host(host)).item();
  return kl::sum(host).item();  // error
}
