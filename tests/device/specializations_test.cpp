// tests/device/specializations_test.cpp -- f.specializations(): what a function was compiled for, and how often it ran.
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/devices.h"

namespace {

class Specializations : public OnEachDevice {
 protected:
  std::string device_name() const { return on_gpu() ? "cuda:0" : "cpu"; }
};
KILN_ON_EACH_DEVICE(Specializations);

TEST_P(Specializations, a_row_per_types_and_layouts_counts_its_calls) {
  const float one = 1;  // captured: the function is this object's own
  const auto f = kl::jit([one](auto x, auto y, auto k) { return x * k + y + one; });
  EXPECT_EQ(f.specializations().size(), 0u);
  kl::Array<float> x = kl::ones<float>({64, 64}), z = x, y = kl::ones<float>({64}), r;
  for (int i = 0; i < 3; ++i) r = f(x, z, 2.0f);
  r = f(kl::ones<float>({128, 64}), kl::ones<float>({128, 64}), 3.0f);
  r = f(x, y, 2.0f);
  r = f(x, x, 2.0f);
  const kl::Specializations list = f.specializations();
  ASSERT_EQ(list.size(), 3u) << list.text().c_str();
  EXPECT_EQ(list[2].layouts, "(contiguous, same as 0) -> contiguous") << "read once";
  EXPECT_EQ(list[0].signature, "(f32[2d], f32[2d], f32)");
  EXPECT_EQ(list[0].layouts, "(contiguous, contiguous) -> contiguous");
  EXPECT_EQ(list[0].runs, 4) << "other extents of the same class are the same kernel";
  EXPECT_EQ(list[1].signature, "(f32[2d], f32[1d], f32)");
  EXPECT_EQ(list[1].runs, 1);
  EXPECT_TRUE(list[1].layouts.contains("broadcast")) << list[1].layouts.c_str();
  for (const kl::Specialization& each : list) {
    EXPECT_EQ(each.device, device_name().c_str());
    EXPECT_FALSE(each.kernels.empty());
    EXPECT_EQ(each.from_cache, each.compile_ms == 0);
    if (on_gpu()) {
      EXPECT_GT(each.registers, 0);
    }
  }
}

TEST_P(Specializations, strided_and_unaligned_operands_are_told_apart) {
  const float one = 1;
  const auto f = kl::jit([one](auto x) { return x + one; });
  kl::Array<float> x = kl::ones<float>({1000, 8}), r;
  r = f(x);
  r = f(x(kl::all, kl::range(0, 8, 2)));
  r = f(x.reshape({8000})(kl::range(1, 4001)).reshape({1000, 4}));
  const kl::Specializations list = f.specializations();
  ASSERT_EQ(list.size(), 3u) << list.text().c_str();
  EXPECT_TRUE(list[1].layouts.contains("strided"));
  EXPECT_TRUE(list[2].layouts.contains("aligned to 4"));
}

TEST_P(Specializations, runs_of_all_threads_are_counted) {
  const float one = 1;
  const auto f = kl::jit([one](auto x) { return x + one; });
  const kl::Array<float> x = kl::ones<float>({16});
  f(x);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const kl::DeviceGuard guard(device);
      for (int i = 0; i < 100; ++i) f(x);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(f.specializations()[0].runs, 401);
}

TEST_P(Specializations, compiling_ahead_is_a_row_without_runs) {
  const float one = 1;
  const auto f = kl::jit([one](auto x) { return x + one; });
  const char* const architecture = on_gpu() ? "sm_80" : "cpu";
  f.compile<kl::Sig<float, 1>>({.archs = {architecture}});
  const kl::Specializations list = f.specializations();
  ASSERT_GE(list.size(), 1u);
  EXPECT_EQ(list[0].device, architecture);
  EXPECT_EQ(list[0].runs, 0);
  EXPECT_EQ(list[0].signature, "(f32[1d])");
}

TEST_P(Specializations, the_list_prints_as_a_table) {
  const float one = 1;
  const auto f = kl::jit([one](auto x) { return x + one; });
  std::ostringstream none, some;
  none << f.specializations();
  EXPECT_EQ(none.str(), "not compiled for anything yet\n");
  f(kl::ones<float>({16}));
  some << f.specializations();
  const std::string table = some.str();
  EXPECT_EQ(table.substr(0, 9), "signature");
  EXPECT_NE(table.find("\n(f32[1d])"), std::string::npos) << table;
}

TEST_P(Specializations, ufuncs_and_gufuncs_have_them_too) {
  const float one = 1;
  const auto g = kl::ufunc([one](auto a, auto b) { return a * b + one; });
  g(kl::ones<float>({4}), 2.0f);
  EXPECT_EQ(g.specializations()[0].signature, "(f32[1d], f32)");
  const auto h = kl::gufunc<"(n)->()">([one](auto a) { return kl::sum(a) + one; });
  h(kl::ones<float>({4, 4}));
  EXPECT_EQ(h.specializations()[0].signature, "(f32[2d])");
}

TEST_P(Specializations, raw_kernels_list_devices_and_architectures) {
  if (!on_gpu()) GTEST_SKIP() << "raw kernels need CUDA";
  const auto k = kl::raw_kernel("fill", "__global__ void fill(float* y, float v) { y[threadIdx.x] = v; }");
  k.compile({.archs = {"sm_80"}});
  kl::Array<float> y({32});
  k[{.grid = 1, .block = 32}](y, 2.0f);
  k[{.grid = 1, .block = 32}](y, 3.0f);
  const kl::Specializations list = k.specializations();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].device, "sm_80");
  EXPECT_EQ(list[0].runs, 0);
  EXPECT_EQ(list[1].device, "cuda:0");
  EXPECT_EQ(list[1].runs, 2);
  EXPECT_TRUE(list[1].signature.contains("float")) << list[1].signature.c_str();
}

}  // namespace
