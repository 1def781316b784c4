// tests/fail/array_if.cpp -- must not compile.
// expect: use kl::where(condition, a, b), or kl::any and kl::all with .item()
#include <kiln/kiln.h>

namespace kl = kiln;

void f(const kl::Array<float>& x, kl::Array<float>& y) {
  // instead: if (kl::all(x > 0).item()) y = x;
  if (x > 0) y = x;  // error
}
