// tests/deploy/consumer/saxpy.cpp -- a user's program: needs an installed kiln and a C++20 compiler, nothing else.
#include <kiln/kiln.h>

#include <cstdio>
#include <vector>

namespace kl = kiln;

int main() {
  std::vector<float> x(1000), y(1000);
  for (int i = 0; i < 1000; ++i) {
    x[i] = static_cast<float>(i);
    y[i] = static_cast<float>(1000 - i);
  }
  kl::DeviceGuard guard(kl::Device::cpu());
  kl::Array<float> a = kl::from_host(x), b = kl::from_host(y);
  b = 3.0f * a + b;
  const std::vector<float> result = b.to_host();
  for (int i = 0; i < 1000; ++i) {
    if (result[i] != static_cast<float>(1000 + 2 * i)) {
      std::printf("element %d is %g, not %d\n", i, static_cast<double>(result[i]), 1000 + 2 * i);
      return 1;
    }
  }
  std::printf("saxpy on %s: 1000 elements are right\n", b.device().name());
  return 0;
}
