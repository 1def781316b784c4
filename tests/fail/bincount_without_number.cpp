// tests/fail/bincount_without_number.cpp -- must not compile.
// expect: kl::bincount(indices, n) is told how many there may be
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<int>& i) {
  // instead: return kl::bincount(i, kl::max(i).item() + 1);
  return kl::bincount(i);  // error
}
