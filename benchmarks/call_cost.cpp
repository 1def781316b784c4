// benchmarks/call_cost.cpp -- host time of a cached call of y = a*x + y on 1024 elements, beside a raw cuLaunchKernel
// of the same compiled kernel with the same arguments on the same stream; and of a raw kernel launched by kiln.
//
// Bursts short enough for the launch queue, one of each kind in turn; waiting for the device is outside the measured
// time. Prints the median burst of each and its quartiles.
#include <kiln/kiln.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/support/driver.h"

namespace kl = kiln;

namespace {

constexpr int burst = 200, rounds = 101;
constexpr std::int64_t elements = 1024;

struct Contender {
  std::string name;
  std::function<double()> run;  ///< one burst, nanoseconds per call
  std::vector<double> times = {};
};

template <class F>
double time_burst(F&& call) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < burst; ++i) call();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  kl::synchronize();
  return 1e9 * seconds / burst;
}

/// The kernel behind `saxpy`, loaded by itself, with the argument block that kiln fills: two pointers in, one out, the
/// number of elements, the scalar.
class RawLaunch {
 public:
  template <class F>
  RawLaunch(const F& saxpy, float a, kl::Array<float>& x, kl::Array<float>& y) : cuda_(benchmarks::driver()) {
    const auto info = saxpy.inspect(a, x, y);
    const auto& kernel = info.kernels[0];
    void* module = nullptr;
    benchmarks::expect(cuda_.load_module(&module, kernel.ptx.c_str()), "cuModuleLoadData");
    benchmarks::expect(cuda_.get_function(&function_, module, kernel.name.c_str()), "cuModuleGetFunction");
    for (int i = 0; i < 3; ++i) {
      grid_[i] = kernel.launch.grid[i];
      block_[i] = kernel.launch.block[i];
    }
    const void* const pointers[] = {x.data(), y.data(), y.data()};
    const unsigned n = elements;
    std::memcpy(arguments_, pointers, sizeof pointers);
    std::memcpy(arguments_ + sizeof pointers, &n, sizeof n);
    std::memcpy(arguments_ + sizeof pointers + sizeof n, &a, sizeof a);
  }
  void operator()(void* stream) {
    void* parameters[] = {arguments_};
    benchmarks::expect(cuda_.launch(function_, grid_[0], grid_[1], grid_[2], block_[0], block_[1], block_[2], 0, stream,
                                    parameters, nullptr),
                       "cuLaunchKernel");
  }

 private:
  const benchmarks::Driver& cuda_;
  void* function_ = nullptr;
  unsigned grid_[3], block_[3];
  alignas(16) unsigned char arguments_[256] = {};
};

constexpr const char* own_source = R"(
extern "C" __global__ void own_saxpy(float* y, const float* x, float a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
})";

void print(std::vector<Contender>& contenders) {
  std::printf("%-34s %10s %10s %10s\n", "ns per call, 1024 elements", "median", "lower 1/4", "upper 1/4");
  for (Contender& c : contenders) {
    std::sort(c.times.begin(), c.times.end());
    std::printf("%-34s %10.0f %10.0f %10.0f\n", c.name.c_str(), c.times[rounds / 2], c.times[rounds / 4],
                c.times[3 * rounds / 4]);
  }
}

}  // namespace

int main() {
  const kl::Device device = kl::Device::current();
  std::printf("device: %s\n", device.name());
  kl::Stream stream(device);
  const kl::StreamGuard guard(stream);
  kl::Array<float> x = kl::ones<float>({elements}), y = kl::ones<float>({elements}), result;
  const auto saxpy = kl::jit([](auto a, auto u, auto v) { return a * u + v; });
  const float a = 0.5f;
  saxpy.into(y)(a, x, y);

  std::vector<Contender> contenders;
  if (device.kind() == kl::DeviceKind::cuda && benchmarks::driver()) {
    auto raw = std::make_shared<RawLaunch>(saxpy, a, x, y);
    contenders.push_back(
        {"raw cuLaunchKernel", [raw, &stream] { return time_burst([&] { (*raw)(stream.native_handle()); }); }});
  }
  contenders.push_back({"kl::jit, into y", [&] { return time_burst([&] { saxpy.into(y)(a, x, y); }); }});
  contenders.push_back({"y = a * x + y", [&] { return time_burst([&] { y = a * x + y; }); }});
  contenders.push_back({"kl::jit, new result", [&] { return time_burst([&] { result = saxpy(a, x, y); }); }});
  if (device.kind() == kl::DeviceKind::cuda) {
    const auto own = kl::raw_kernel("own_saxpy", own_source);
    contenders.push_back({"kl::raw_kernel", [&, own] {
                            return time_burst(
                                [&] { own[{.grid = 4, .block = 256}](y, x, a, static_cast<int>(elements)); });
                          }});
  }
  for (int round = 0; round < rounds + 2; ++round) {
    for (Contender& c : contenders) {
      const double time = c.run();
      if (round >= 2) c.times.push_back(time);
    }
  }
  print(contenders);
  return 0;
}
