// examples/09_profile.cpp -- where the time goes: kernels, copies, bytes per second, and how near a kernel is to what
// the memory can do.
#include <kiln/kiln.h>
#include <kiln/profile.h>

#include <iostream>

namespace kl = kiln;

int main() {
  const auto softmax = kl::jit("softmax", [](auto v) {
    auto e = kl::exp(v - kl::max(v, -1, kl::keepdims));
    return e / kl::sum(e, -1, kl::keepdims);
  });
  kl::Array<float> x = kl::random::normal<float>({4096, 1024}, 1);
  kl::Array<float> y;

  // Prints the table, and returns it. The first call is planned and compiled inside; its time is told apart.
  const kl::Profile profile = kl::profile([&] {
    for (int i = 0; i < 10; ++i) y = softmax(x);
    y = 2.0f * y + x;
    y.to_host();
  });

  for (const kl::ProfileRow& row : profile) {  // a row per kernel, longest total time first
    if (!row.label.contains("softmax")) continue;
    const kl::Roofline roofline = softmax.inspect(x).roofline(row.shortest_ms);
    std::cout << "the fastest softmax of " << row.count << ": " << roofline << '\n';
    return row.count == 10 ? 0 : 1;
  }
  return 1;
}
