// tests/fail/vector_assigned.cpp -- must not compile.
// expect: copy host memory with kl::from_host
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& x, const std::vector<float>& host) {
  // instead: x = kl::from_host(host);
  x = host;  // error
}
