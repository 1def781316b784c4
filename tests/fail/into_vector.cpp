// tests/fail/into_vector.cpp -- must not compile.
// expect: f.into(...) writes arrays and views
#include <kiln/kiln.h>

namespace kl = kiln;

void f(const kl::Array<float>& x, std::vector<float>& host) {
  const auto g = kl::jit([](auto a) { return 2 * a; });
  // instead: host = g(x).to_host();
  g.into(host)(x);  // error
}
