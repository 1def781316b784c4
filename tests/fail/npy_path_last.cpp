// tests/fail/npy_path_last.cpp -- must not compile.
// expect: the path comes first: kl::save_npy("y.npy", x)
#include <kiln/kiln.h>

namespace kl = kiln;

void f(const kl::Array<float>& x) {
  // instead: kl::save_npy("y.npy", x);
  kl::save_npy(x, "y.npy");  // error
}
