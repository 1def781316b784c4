// tests/fail/histogram_without_range.cpp -- must not compile.
// expect: kl::histogram is told its range: kl::histogram(x, bins, lo, hi)
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: return kl::histogram(x, 8, kl::min(x).item(), kl::max(x).item());
  return kl::histogram(x, 8);  // error
}
