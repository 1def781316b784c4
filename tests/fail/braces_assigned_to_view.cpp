// tests/fail/braces_assigned_to_view.cpp -- must not compile.
// expect: numbers in braces are copied first: x = kl::from_host({1, 2})
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& x) {
  kl::View<float> v = x(kl::range(0, 2));
  // instead: v = kl::from_host({1, 2});
  v = {1, 2};  // error
}
