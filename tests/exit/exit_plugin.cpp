// tests/exit/exit_plugin.cpp -- the plugin of unloaded.cpp: leaves tuning on the GPU and threads on the CPU behind.
#include <unistd.h>

#include <kiln/kiln.h>

namespace kl = kiln;

extern "C" __attribute__((visibility("default"))) void compute() {
  {
    const kl::DeviceGuard guard(kl::Device::cuda(0));
    const auto x = kl::zeros<float>({1 << 22});
    const auto f = kl::jit([](auto a) { return kl::exp(a) * 2.0f + kl::sin(a); });
    for (int call = 0; call < 30; ++call) {
      kl::Array<float> z = f(x);
      ::usleep(200);
    }
  }
  const kl::DeviceGuard guard(kl::Device::cpu());
  kl::Array<float> y = kl::zeros<float>({1 << 18}) + 1.0f;
}
