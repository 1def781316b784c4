// tests/fail/zeros_of_traced_shape.cpp -- must not compile.
// expect: nothing is made in the shape of a traced value; a number beside it broadcasts: 0.0f
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& v) {
  // instead: auto g = kl::jit([](auto x) { return kl::maximum(x, 0.0f); });
  auto g = kl::jit([](auto x) { return kl::maximum(x, kl::zeros<float>(x.shape())); });  // error
  return g(v);
}
