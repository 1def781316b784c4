// tests/fail/mean_in_integers.cpp -- must not compile.
// expect: kl::mean accumulates in a floating or complex type
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<int>& x) {
  // instead: kl::mean(x, kl::accumulate<double>);
  kl::mean(x, kl::accumulate<int>);  // error
}
