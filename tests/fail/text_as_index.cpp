// tests/fail/text_as_index.cpp -- must not compile.
// expect: an index is an integer, kl::range(start, stop, step), kl::all
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: return kl::eval(x(kl::all, 0));
  return kl::eval(x(kl::all, "a"));  // error
}
