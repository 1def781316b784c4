// tests/fail/traced_printed.cpp -- must not compile.
// expect: a traced value has no value yet; print what the compiled function returns
#include <kiln/kiln.h>

#include <iostream>

namespace kl = kiln;

auto f(const kl::Array<float>& v) {
  auto g = kl::jit([](auto x) {
    std::cout << x;  // error
    return x + 1;
  });
  // instead: std::cout << g(v);
  return g(v);
}
