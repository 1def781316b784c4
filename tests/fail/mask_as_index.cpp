// tests/fail/mask_as_index.cpp -- must not compile.
// expect: kl::take(x, ids, 0) for x[ids], kl::where(mask, x, 0) for x[mask]
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: return kl::eval(kl::where(x > 0, x, 0));
  return kl::eval(x(x > 0));  // error
}
