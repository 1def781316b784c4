// tests/fail/array_conditional.cpp -- must not compile.
// expect: use kl::where(condition, a, b), or kl::any and kl::all with .item()
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x, const kl::Array<float>& y) {
  // instead: return kl::eval(kl::where(x > 0, x, y));
  return kl::eval(x > 0 ? x : y);  // error
}
