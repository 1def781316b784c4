// tests/fail/gufunc_count.cpp -- must not compile.
// expect: a kl::gufunc is called with as many arguments as its signature has
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& x) {
  auto g = kl::gufunc<"(m,n),(n)->(m)">([](auto a, auto v) { return kl::sum(a * v, 1); });
  g(x);  // error
}
