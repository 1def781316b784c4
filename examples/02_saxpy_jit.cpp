// examples/02_saxpy_jit.cpp -- a compiled function: traced once, one kernel, scalars that never recompile.
#include <kiln/kiln.h>

#include <cmath>
#include <cstdio>
#include <vector>

namespace kl = kiln;

int main() {
  const std::vector<float> host_x = {1, 2, 3, 4, 5}, host_y = {10, 20, 30, 40, 50};
  kl::Array<float> x = kl::from_host(host_x), y = kl::from_host(host_y);

  // `auto` parameters are run-time values: arrays or numbers. The body runs once, when the function is traced.
  auto saxpy = kl::jit([](auto a, auto u, auto v) { return a * u + v; });
  kl::Array<float> z = saxpy(2.0f, x, y);  // allocates the result
  saxpy.into(y)(0.5f, x, y);               // in place; another scalar, the same kernel

  // Inline, without a named function: the right side is complete before y changes.
  y = y - 1.0f;

  const std::vector<float> first = z.to_host(), second = y.to_host();
  for (std::size_t i = 0; i < host_x.size(); ++i) {
    const float expected_first = 2.0f * host_x[i] + host_y[i], expected_second = 0.5f * host_x[i] + host_y[i] - 1.0f;
    std::printf("%g %g\n", double(first[i]), double(second[i]));
    if (first[i] != expected_first || std::fabs(second[i] - expected_second) > 1e-6f) return 1;
  }
  return 0;
}
