// tests/fail/accumulate_of_max.cpp -- must not compile.
// expect: kl::accumulate applies to kl::sum, kl::prod and kl::mean only
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& x) {
  // instead: kl::sum(x, kl::accumulate<double>);
  kl::max(x, kl::accumulate<double>);  // error
}
