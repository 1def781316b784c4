// tests/fail/ufunc_unary_reduce.cpp -- must not compile.
// expect: reduce, accumulate and outer need a kl::ufunc of two arguments
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& x) {
  auto g = kl::ufunc([](auto a) { return -a; });
  g.reduce(x, 0);  // error
}
