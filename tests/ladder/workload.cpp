// tests/ladder/workload.cpp -- a little of everything that KILN_DEBUG tells about, on the CPU device.
#include <cstdio>

#include <kiln/kiln.h>

namespace kl = kiln;

int main() {
  const kl::DeviceGuard guard(kl::Device::cpu());
  kl::Array<float> x = kl::ones<float>({64, 32});
  const auto softmax = kl::jit("softmax", [](auto v) {
    auto e = kl::exp(v - kl::max(v, -1, kl::keepdims));
    return e / kl::sum(e, -1, kl::keepdims);
  });
  const kl::Array<float> y = softmax(x);
  x(kl::range(1, 64)) = x(kl::range(0, 63)) + 1;  // overlaps: through a temporary
  if (y.to_host()[0] != 1.0f / 32) return 1;
  try {
    softmax.compile<kl::Sig<float, 2>>({.archs = {"sm_90"}});
  } catch (const kl::DeviceError& error) {
    std::printf("no NVRTC: %s\n", error.what());  // the lines about it are then not expected
  }
  return 0;
}
