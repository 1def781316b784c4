// tests/embed/c_run.h -- tensors, kernels and a function for tests of the C interface on every device.
#pragma once

#include <kiln/kiln_c.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace c_run {

#define OK(call) ASSERT_EQ((call), KILN_OK) << kiln_last_error()
#define FAILS(status, part, call)                   \
  EXPECT_EQ((call), (status)) << kiln_last_error(); \
  EXPECT_NE(std::string(kiln_last_error()).find(part), std::string::npos) << kiln_last_error()

inline std::vector<kiln_dl_device> devices() {
  std::size_t count = 0;
  EXPECT_EQ(kiln_device_count(&count), KILN_OK);
  std::vector<kiln_dl_device> all;
  for (std::size_t i = 0; i < count; ++i) {
    kiln_device_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(kiln_device_at(i, &info), KILN_OK);
    all.push_back(info.device);
  }
  return all;
}
inline bool is_gpu(kiln_dl_device device) { return device.device_type == KILN_DL_CUDA; }

/// A tensor of kiln's memory with its elements.
class Tensor {
 public:
  Tensor(kiln_dl_device device, std::vector<float> values) : size_(static_cast<std::int64_t>(values.size())) {
    EXPECT_EQ(kiln_tensor_create(device, nullptr, KILN_F32, &size_, 1, &managed_), KILN_OK) << kiln_last_error();
    set(values);
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor() { managed_->deleter(managed_); }
  const kiln_dl_tensor* get() const { return &managed_->dl_tensor; }
  void set(const std::vector<float>& values) const {
    EXPECT_EQ(kiln_tensor_upload(get(), nullptr, values.data(), 4 * values.size()), KILN_OK) << kiln_last_error();
  }
  std::vector<float> values() const {
    std::vector<float> all(static_cast<std::size_t>(size_));
    EXPECT_EQ(kiln_tensor_download(get(), nullptr, all.data(), 4 * all.size()), KILN_OK) << kiln_last_error();
    return all;
  }

 private:
  std::int64_t size_;
  kiln_dl_managed_tensor_versioned* managed_ = nullptr;
};

/// The kernel of a text; functions by their names.
inline kiln_kernel* kernel_of(const char* text, std::vector<const kiln_function*> functions = {}) {
  kiln_graph* graph = nullptr;
  EXPECT_EQ(kiln_graph_parse_with(text, SIZE_MAX, functions.data(), functions.size(), &graph), KILN_OK)
      << kiln_last_error();
  kiln_kernel* kernel = nullptr;
  EXPECT_EQ(kiln_kernel_create(graph, nullptr, &kernel), KILN_OK) << kiln_last_error();
  kiln_graph_destroy(graph);
  return kernel;
}
inline constexpr const char* doubled =
    "kiln graph 1\nname \"doubled\"\n%0 = input type=f32 rank=1\n%1 = add %0, %0\noutput %1\n";

// ------------------------------------------------------------------ functions
/// smooth(a, b, x), with a host's version that counts its calls.
struct Host {
  std::atomic<long> elements{0};
  std::atomic<int> destroyed{0};
  bool throws = false;
};
inline void smooth_on_host(void* context, void* results, const void* const* arguments, std::int64_t count) {
  Host& host = *static_cast<Host*>(context);
  if (host.throws) throw 7;
  const auto* const a = static_cast<const float*>(arguments[0]);
  const auto* const b = static_cast<const float*>(arguments[1]);
  const auto* const x = static_cast<const float*>(arguments[2]);
  for (std::int64_t i = 0; i < count; ++i) {
    const float t = std::fmin(std::fmax((x[i] - a[i]) / (b[i] - a[i]), 0.0f), 1.0f);
    static_cast<float*>(results)[i] = t * t * (3.0f - 2.0f * t);
  }
  host.elements += count;
}
inline kiln_function_description smooth(Host& host) {
  static const char* const names[] = {"a", "b", "x"};
  static const std::int32_t types[] = {KILN_F32, KILN_F32, KILN_F32};
  kiln_function_description d{};
  d.struct_size = sizeof d;
  d.name = "smooth";
  d.parameter_names = names;
  d.parameter_types = types;
  d.parameter_count = 3;
  d.result_type = KILN_F32;
  d.text = "float t = fminf(fmaxf((x - a) / (b - a), zero()), 1.f); return t * t * (3.f - 2.f * t);";
  d.preamble = "inline __device__ float zero() { return 0.f; }";
  d.host = &smooth_on_host;
  d.context = &host;
  d.destroy = [](void* context) { ++static_cast<Host*>(context)->destroyed; };
  return d;
}
inline constexpr const char* smooth_text =
    "kiln graph 1\n%0 = input type=f32 rank=1\n%1 = scalar type=f32\n%2 = scalar type=f32\n"
    "%3 = call %1, %2, %0 function=\"smooth\"\n%4 = mul %3, %0\noutput %4\n";

/// In double precision, independently.
inline double expected_smooth(double x) {
  const double t = x < 0 ? 0 : x > 2 ? 1 : x / 2;
  return t * t * (3 - 2 * t) * x;
}

}  // namespace c_run
