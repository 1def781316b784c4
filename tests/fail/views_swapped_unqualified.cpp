// tests/fail/views_swapped_unqualified.cpp -- must not compile.
// expect: views are not exchanged, for assigning to one writes elements
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& x) {
  kl::View<float> v = x(0), w = x(1);
  // instead: kl::Array kept = kl::eval(v); v = w; w = kept;
  swap(v, w);  // error
}
