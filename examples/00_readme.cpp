// examples/00_readme.cpp -- the README's first lines as a program.
#include <kiln/kiln.h>

#include <cmath>
#include <cstdio>
#include <vector>

namespace kl = kiln;

int main() {
  const std::vector<float> host_x = {0, 1, 2, 3}, host_y = {1, 0, -1, -2};

  kl::Array<float> x = kl::from_host(host_x);  // on the current device: the GPU if there is one, else the CPU
  kl::Array<float> y = kl::from_host(host_y);
  y = 2.5f * x + y;  // one kernel, written in place

  auto swish = kl::jit([](auto v, auto beta) { return v / (1.0f + kl::exp(-beta * v)); });  // traced once
  kl::Array<float> z = swish(y, 1.5f);  // beta is a run-time value: changing it compiles nothing
  std::vector<float> result = z.to_host();

  for (std::size_t i = 0; i < result.size(); ++i) {
    const double v = 2.5 * double(host_x[i]) + double(host_y[i]), expected = v / (1.0 + std::exp(-1.5 * v));
    std::printf("%g\n", double(result[i]));
    if (std::fabs(double(result[i]) - expected) > 1e-6 * (1 + std::fabs(expected))) return 1;
  }
  return 0;
}
