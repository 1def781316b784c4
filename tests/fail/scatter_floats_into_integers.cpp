// tests/fail/scatter_floats_into_integers.cpp -- must not compile.
// expect: updates of this kind do not join the target's elements; convert them with kl::cast
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<int>& counts, kl::Array<int>& i, kl::Array<float>& x) {
  // instead: kl::scatter_add(counts, i, kl::cast<int>(x));
  kl::scatter_add(counts, i, x);  // error
}
