// tests/fail/const_view_variable.cpp -- must not compile.
// expect: a view that is const itself cannot be assigned to
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& x) {
  const kl::View<float> v = x;
  // instead: v(kl::all) = 1;
  v = 1;  // error
}
