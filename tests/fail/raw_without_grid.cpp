// tests/fail/raw_without_grid.cpp -- must not compile.
// expect: a raw kernel is launched with a grid: k[{.grid = {gx, gy}, .block = {32, 8}}](...), or k.over(n)(...)
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x, const kl::RawKernel& k) {
  // instead: k.over(x.size())(x);
  k(x);  // error
}
