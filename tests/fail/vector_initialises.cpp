// tests/fail/vector_initialises.cpp -- must not compile.
// expect: an array of host memory is made by copying: kl::from_host(values)
#include <kiln/kiln.h>

namespace kl = kiln;

void f(const std::vector<float>& host) {
  // instead: kl::Array<float> r = kl::from_host(host);
  kl::Array<float> r = host;  // error
}
