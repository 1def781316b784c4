// tests/calls/calls.cpp -- `calls FORM COUNT`: makes a call of one form so often, for count_instructions.py.
#include <kiln/kiln.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace kl = kiln;

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: calls FORM COUNT\n", stderr), 2;
  const std::string_view form = argv[1];
  const int count = std::atoi(argv[2]);
  const kl::Stream stream(kl::Device::current());
  const kl::StreamGuard guard(stream);
  kl::Array<float> x = kl::ones<float>({1024}), y = kl::ones<float>({1024}), result;
  const auto saxpy = kl::jit([](auto a, auto u, auto v) { return a * u + v; });
  float a = 0.5f;
  for (int i = 0; i < count; ++i) {
    a = static_cast<float>(i);  // another value at each call
    if (form == "into")
      saxpy.into(y)(a, x, y);
    else if (form == "expression")
      y = a * x + y;
    else if (form == "result")
      result = saxpy(a, x, y);
    else
      return std::fputs("FORM is into, expression or result\n", stderr), 2;
  }
  return 0;
}
