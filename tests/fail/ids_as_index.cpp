// tests/fail/ids_as_index.cpp -- must not compile.
// expect: kl::take(x, ids, 0) for x[ids], kl::where(mask, x, 0) for x[mask]
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(kl::Array<float>& x, const kl::Array<int>& ids) {
  // instead: return kl::eval(kl::take(x, ids, 0));
  return kl::eval(x(ids));  // error
}
