// tests/fail/loop_over_array.cpp -- must not compile.
// expect: loop over a copy: for (float v : x.to_host())
#include <kiln/kiln.h>

namespace kl = kiln;

float f(const kl::Array<float>& x) {
  float last = 0;
  // instead: for (float v : x.to_host()) last = v;
  for (float v : x) last = v;  // error
  return last;
}
