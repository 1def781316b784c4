// tests/fail/gufunc_results.cpp -- must not compile.
// expect: the function of kl::gufunc returns as many values as its signature has
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& x) {
  auto g = kl::gufunc<"(n)->(),()">([](auto v) { return kl::sum(v); });
  g(x);  // error
}
