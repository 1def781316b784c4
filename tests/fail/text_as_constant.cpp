// tests/fail/text_as_constant.cpp -- must not compile.
// expect: kl::Const and kl::lit take a C++ number
#include <kiln/kiln.h>

namespace kl = kiln;

void f() {
  // instead: auto c = kl::lit(1);
  auto c = kl::lit("a");  // error
}
