// tests/fail/device_by_text.cpp -- must not compile.
// expect: devices are kl::Device::cpu() and kl::Device::cuda(0), not texts
#include <kiln/kiln.h>

namespace kl = kiln;

auto f(const kl::Array<float>& x) {
  // instead: return x.to(kl::Device::cuda());
  return x.to("cuda");  // error
}
