// tests/fail/keepdims_of_scan.cpp -- must not compile.
// expect: a scan keeps the shape; kl::keepdims applies to reductions
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& x) {
  // instead: kl::cumsum(x);
  kl::cumsum(x, kl::keepdims);  // error
}
