// tests/fail/gufunc_signature.cpp -- must not compile.
// expect: the signature of kl::gufunc is written like
#include <kiln/kiln.h>

namespace kl = kiln;

void f() {
  kl::gufunc<"(m,n)(n)->(m)">([](auto a, auto x) { return kl::sum(a * x, 1); });  // error
}
