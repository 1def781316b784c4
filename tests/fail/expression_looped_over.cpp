// tests/fail/expression_looped_over.cpp -- must not compile.
// expect: loop over a copy: for (float v : x.to_host())
#include <kiln/kiln.h>

namespace kl = kiln;

float f(const kl::Array<float>& x) {
  float last = 0;
  // instead: for (float v : kl::eval(x + 1).to_host()) last = v;
  for (float v : x + 1) last = v;  // error
  return last;
}
