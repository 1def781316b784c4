// benchmarks/call_cost.cpp -- host time of a cached call of y = a*x + y on 1024 elements, beside a raw cuLaunchKernel
// of the same compiled kernel with the same arguments on the same stream; of a raw kernel launched by kiln; and through
// the C interface.
//
// Bursts short enough for the launch queue, one of each kind in turn; waiting for the device is outside the measured
// time. Prints the median burst of each and its quartiles.
#include <kiln/kiln.h>
#include <kiln/kiln_c.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
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

/// The same expression through the C interface, with DLPack tensors and with addresses.
class CLaunch {
 public:
  CLaunch(float a, kl::Array<float>& x, kl::Array<float>& y) : a_(a) {
    constexpr const char* text =
        "kiln graph 1\n%0 = input type=f32 rank=1\n%1 = input type=f32 rank=1\n%2 = scalar type=f32\n"
        "%3 = mul %2, %0\n%4 = add %3, %1\noutput %4\n";
    kiln_graph* graph = nullptr;
    if (kiln_graph_parse(text, SIZE_MAX, &graph) || kiln_kernel_create(graph, nullptr, &kernel_)) fail();
    kiln_graph_destroy(graph);
    const kl::Device device = x.device();
    device_ = {device.kind() == kl::DeviceKind::cpu ? KILN_DL_CPU : KILN_DL_CUDA, device.index()};
    raw_[0] = {x.data(), &shape_, nullptr, 1, KILN_F32};
    raw_[1] = {y.data(), &shape_, nullptr, 1, KILN_F32};
    for (int i = 0; i < 2; ++i) {
      tensors_[i] = {raw_[i].data, device_, 1, {KILN_DL_FLOAT, 32, 1}, &shape_, nullptr, 0};
      pointers_[i] = &tensors_[i];
    }
  }
  CLaunch(const CLaunch&) = delete;
  CLaunch& operator=(const CLaunch&) = delete;
  ~CLaunch() { kiln_kernel_destroy(kernel_); }
  void with_dlpack(void* stream) const {
    if (kiln_launch(kernel_, stream, pointers_, 2, &scalar_, 1, pointers_ + 1, 1)) fail();
  }
  void with_addresses(void* stream) const {
    if (kiln_launch_raw(kernel_, device_, stream, raw_, 2, &scalar_, 1, raw_ + 1, 1)) fail();
  }

 private:
  [[noreturn]] static void fail() {
    std::fprintf(stderr, "%s\n", kiln_last_error());
    std::exit(1);
  }
  kiln_kernel* kernel_ = nullptr;
  float a_;
  const void* scalar_ = &a_;
  std::int64_t shape_ = elements;
  kiln_dl_device device_{};
  kiln_tensor raw_[2];
  kiln_dl_tensor tensors_[2];
  const kiln_dl_tensor* pointers_[2];
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
  const CLaunch c_launch(a, x, y);
  contenders.push_back(
      {"kiln_launch", [&] { return time_burst([&] { c_launch.with_dlpack(stream.native_handle()); }); }});
  contenders.push_back(
      {"kiln_launch_raw", [&] { return time_burst([&] { c_launch.with_addresses(stream.native_handle()); }); }});
  for (int round = 0; round < rounds + 2; ++round) {
    for (Contender& c : contenders) {
      const double time = c.run();
      if (round >= 2) c.times.push_back(time);
    }
  }
  print(contenders);
  return 0;
}
