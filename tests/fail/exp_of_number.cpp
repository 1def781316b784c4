// tests/fail/exp_of_number.cpp -- must not compile.
// expect: functions of kl:: take an array, an expression or a traced value; of C++ numbers alone: std::exp(2.0f)
#include <kiln/kiln.h>

#include <cmath>
namespace kl = kiln;

auto f() {
  // instead: return std::exp(2.0);
  return kl::exp(2.0);  // error
}
