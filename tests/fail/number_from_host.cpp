// tests/fail/number_from_host.cpp -- must not compile.
// expect: one fills an array: kl::full({n}, value)
#include <kiln/kiln.h>

namespace kl = kiln;

auto f() {
  // instead: return kl::full({1}, 1.0);
  return kl::from_host(1.0);  // error
}
