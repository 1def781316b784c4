// tests/fail/repeat_without_header.cpp -- must not compile.
// expect: kl::repeat(turns, states, body) needs #include <kiln/repeat.h>
#include <kiln/kiln.h>
// instead: #include <kiln/repeat.h>
namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  return kl::jit([](auto a) { return kl::repeat(3, a, [](auto s) { return s * 0.5f; }); })(x);  // error
}
