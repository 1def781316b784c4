// tests/device/cases_runtime_test.cpp -- reported faults of runtimes, on each device: races of first calls, captures,
// memory that ends (cases D03, D05, D09, D10).
#include <barrier>
#include <thread>
#include <vector>

#include "tests/support/devices.h"

namespace {

using Floats = std::vector<float>;

class RuntimeCases : public OnEachDevice {};
KILN_ON_EACH_DEVICE(RuntimeCases);

/// (2^k) x + k, as k doublings, so that each k is another kernel.
kl::Array<float> doubled(const kl::Array<float>& x, int k) {
  const auto f = kl::jit([k](auto a) {
    auto sum = a + 0.0f;
    for (int n = 0; n < k; ++n) sum = sum + sum;
    return sum + static_cast<float>(k);
  });
  return f(x);
}

/// D03: 24 threads at once, each with a new graph of its own and one that all want, on this device and on the CPU.
TEST_P(RuntimeCases, FirstCallsOfManyThreadsOnTwoDevices) {
  constexpr int threads = 24, rounds = 4;
#ifdef KILN_WITHOUT_CPU_COMPILER
  const kl::Device second = device;
#else
  const kl::Device second = kl::Device::cpu();
#endif
  for (int round = 0; round < rounds; ++round) {
    std::barrier start(threads);
    std::vector<Floats> own(threads), common(threads);
    std::vector<std::thread> pool;
    const auto shared = kl::jit([round](auto a) { return a * 3.0f + static_cast<float>(round); });
    for (int t = 0; t < threads; ++t) {
      pool.emplace_back([&, t] {
        const kl::DeviceGuard guard(t % 3 == 0 ? second : device);
        const auto x = kl::from_host(Floats{1, 2, 3});
        start.arrive_and_wait();
        own[static_cast<std::size_t>(t)] = doubled(x, t % 12 + 1).to_host();
        common[static_cast<std::size_t>(t)] = kl::Array<float>(shared(x)).to_host();
      });
    }
    for (std::thread& thread : pool) thread.join();
    const auto r = static_cast<float>(round);
    for (int t = 0; t < threads; ++t) {
      const auto k = static_cast<float>(t % 12 + 1), factor = static_cast<float>(1 << (t % 12 + 1));
      EXPECT_EQ(own[static_cast<std::size_t>(t)], (Floats{factor + k, 2 * factor + k, 3 * factor + k})) << t;
      EXPECT_EQ(common[static_cast<std::size_t>(t)], (Floats{3 + r, 6 + r, 9 + r})) << t;
    }
  }
}

/// D05: a warm kernel, a cold one and a reduction with a workspace are captured; ten replays see the inputs of their
/// time.
TEST_P(RuntimeCases, ReplaysOfWarmAndColdKernelsSeeNewInputs) {
  constexpr std::int64_t n = 1 << 22;  // large enough to be split, and to be tuned
  kl::Array<float> x = kl::ones<float>({n}), warm = kl::zeros<float>({n}), cold = kl::zeros<float>({n}), total;
  const auto known = kl::jit([](auto a) { return a * 2.0f + 1.0f; });
  known.into(warm)(x);
  kl::synchronize();
  const auto unknown = kl::jit([](auto a) { return a * 5.0f - 3.0f; });
  const kl::Graph g = kl::capture([&] {
    known.into(warm)(x);
    unknown.into(cold)(x);
    total = kl::sum(x);
  });
  for (int replay = 0; replay < 10; ++replay) {
    const auto value = static_cast<float>(replay % 4);  // sums of 2^22 are exact
    x = value;
    g.launch();
    EXPECT_EQ(warm(n - 1).item(), value * 2 + 1);
    EXPECT_EQ(cold(n / 2).item(), value * 5 - 3);
    EXPECT_EQ(total.item(), value * static_cast<float>(n));
  }
}

/// D09, D10: an allocation that no device has fails by itself; inputs, and calls that follow, know nothing of it.
TEST_P(RuntimeCases, MemoryThatIsNotThereSpoilsNothing) {
  const auto x = kl::from_host(Floats{1, 2, 3});
  kl::Array<float> y = kl::from_host(Floats{7});
  for (int attempt = 0; attempt < 3; ++attempt) {
    EXPECT_THROW(y = kl::zeros<float>({std::int64_t{1} << 46}), kl::OutOfMemory);
    EXPECT_EQ(y.to_host(), Floats{7}) << "not assigned";
    EXPECT_EQ(doubled(x, 1).to_host(), (Floats{3, 5, 7}));
    EXPECT_EQ(kl::sum(x).item(), 6.0f);
  }
}

}  // namespace
