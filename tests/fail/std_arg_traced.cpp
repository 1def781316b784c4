// tests/fail/std_arg_traced.cpp -- must not compile.
// expect: std::arg takes C++ numbers; of arrays, expressions and traced values: kl::arg
#include <kiln/kiln.h>

#include <complex>
namespace kl = kiln;

auto f(const kl::Array<std::complex<float>>& z) {
  // instead: return kl::jit([](auto a) { return kl::arg(a); })(z);
  return kl::jit([](auto a) { return std::arg(a); })(z);  // error
}
