// tests/fail/profile_without_header.cpp -- must not compile.
// expect: kl::profile(function) needs #include <kiln/profile.h>
#include <kiln/kiln.h>
// instead: #include <kiln/profile.h>
namespace kl = kiln;

void f(kl::Array<float>& x) {
  kl::profile([&] { x *= 2; });  // error
}
