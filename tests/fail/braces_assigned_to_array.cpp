// tests/fail/braces_assigned_to_array.cpp -- must not compile.
// expect: numbers in braces are copied first: x = kl::from_host({1, 2})
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& a) {
  // instead: a = kl::from_host({1, 2});
  a = {1, 2};  // error
}
