// examples/01_vector_add.cpp -- adds two vectors of 1,000,000 floats: each step by name, then the same in one line.
#include <kiln/kiln.h>

#include <cstdio>
#include <vector>

namespace kl = kiln;

namespace {

bool check(const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& sum, const char* name) {
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (sum[i] != a[i] + b[i]) {
      std::printf("%s: element %zu is %g, not %g\n", name, i, double(sum[i]), double(a[i] + b[i]));
      return false;
    }
  }
  std::printf("%s: %zu sums are right\n", name, sum.size());
  return true;
}

}  // namespace

int main() {
  constexpr std::int64_t n = 1'000'000;
  std::vector<float> host_a(n), host_b(n);
  for (std::int64_t i = 0; i < n; ++i) {
    host_a[i] = 0.5f * static_cast<float>(i);
    host_b[i] = static_cast<float>(n - i);
  }

  // Step by step. The function is compiled for these types at its first call and cached on disk.
  auto add = kl::jit([](auto x, auto y) { return x + y; });
  kl::Array<float> a = kl::from_host(host_a);  // allocate on the device and copy in
  kl::Array<float> b = kl::from_host(host_b);
  kl::Array<float> c({n});                          // allocate, uninitialised
  add.into(c)(a, b);                                // launch, asynchronous
  kl::synchronize();                                // wait
  const std::vector<float> stepwise = c.to_host();  // copy out (waits too)

  // The same in one line.
  const std::vector<float> oneline = kl::eval(kl::from_host(host_a) + kl::from_host(host_b)).to_host();

  std::printf("device: %s\n", c.device().name());
  const bool right = check(host_a, host_b, stepwise, "step by step") & check(host_a, host_b, oneline, "one line");
  return right ? 0 : 1;
}
