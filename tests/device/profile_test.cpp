// tests/device/profile_test.cpp -- kl::profile counts what was enqueued, by whom, and how many bytes it moved.
#include <kiln/profile.h>

#include <sstream>
#include <stdexcept>
#include <thread>

#include "tests/support/devices.h"

namespace {

constexpr std::int64_t n = 1 << 20;
constexpr kl::ProfileOptions silent{.print = false};

class Profiles : public OnEachDevice {};
KILN_ON_EACH_DEVICE(Profiles);

const auto axpy = kl::jit("axpy", [](auto a, auto x, auto y) { return a * x + y; });

const kl::ProfileRow* row_of(const kl::Profile& profile, const char* part) {
  for (const kl::ProfileRow& row : profile)
    if (row.label.contains(part) || row.name.contains(part)) return &row;
  return nullptr;
}

TEST_P(Profiles, CountsLaunchesAndBytesOfEachKernel) {
  kl::Array<float> x = kl::ones<float>({n}), y = kl::ones<float>({n});
  const kl::Profile profile = kl::profile(
      [&] {
        for (int i = 0; i < 7; ++i) y = axpy(2.0f, x, y);
        x = kl::sqrt(x);
      },
      silent);
  ASSERT_EQ(profile.size(), 2u) << profile.table().c_str();
  const kl::ProfileRow* const row = row_of(profile, "axpy (profile_test.cpp:");
  ASSERT_TRUE(row) << profile.table().c_str();
  EXPECT_EQ(row->count, 7);
  EXPECT_EQ(row->captured, 0);
  EXPECT_EQ(row->bytes, 7 * 3 * n * 4) << "two operands read, one result written";
  EXPECT_TRUE(row->name.contains("add_mul")) << "kernels are named after what they compute: " << row->name.c_str();
  EXPECT_TRUE(row->device == (on_gpu() ? "cuda:0" : "cpu"));
  EXPECT_EQ(row->kind, kl::ProfileRow::Kind::kernel);
  EXPECT_GT(row->total_ms, 0);
  EXPECT_NEAR(row->mean_ms, row->total_ms / 7, 1e-9 * row->total_ms);
  EXPECT_LE(row->shortest_ms, row->mean_ms * (1 + 1e-9));
  EXPECT_GE(row->longest_ms, row->mean_ms * (1 - 1e-9));
  EXPECT_NEAR(row->gigabytes_per_second, 7.0 * 3 * n * 4 / row->total_ms / 1e6, 1e-6 * row->gigabytes_per_second);
  EXPECT_NEAR(row->operations_per_byte, 2.0 / 12, 1e-12) << "a product and a sum for 12 bytes";
  if (on_gpu()) {
    EXPECT_GT(row->of_peak, 0);
  } else {
    EXPECT_EQ(row->of_peak, -1) << "the CPU's peak is not known";
  }
  double share = 0;
  for (const kl::ProfileRow& each : profile) share += each.share;
  EXPECT_NEAR(share, 1, 1e-9);
  EXPECT_GE(profile.wall_ms() * 1.001, on_gpu() ? 0 : profile.device_ms());
}

TEST_P(Profiles, CopiesAreRowsOfTheirOwn) {
  const std::vector<float> values(1000, 2.0f);
  const kl::Profile profile = kl::profile(
      [&] {
        const kl::Array<float> x = kl::from_host(values);
        const std::vector<float> back = x.to_host();
        EXPECT_EQ(back[999], 2.0f);
        const kl::Array<float> twin = x.clone();
      },
      silent);
  for (const char* name : {"copy from host", "copy to host"}) {
    const kl::ProfileRow* const row = row_of(profile, name);
    ASSERT_TRUE(row) << name << " in\n" << profile.table().c_str();
    EXPECT_EQ(row->count, 1);
    EXPECT_EQ(row->bytes, 4000);
    EXPECT_EQ(row->kind, kl::ProfileRow::Kind::copy);
    EXPECT_TRUE(row->label.contains("(profile_test.cpp:")) << row->label.c_str();
  }
  EXPECT_EQ(profile.size(), 3u) << profile.table().c_str();
}

TEST_P(Profiles, PlanningIsTimedApartFromLaunches) {
  kl::Array<float> x = kl::ones<float>({100});
  const auto fresh = kl::jit([](auto v) { return 3 * v - 8; });
  kl::Array<float> y;
  const kl::Profile first = kl::profile([&] { y = fresh(x); }, silent);
  const kl::Profile second = kl::profile([&] { y = fresh(x); }, silent);
  EXPECT_GT(first.planning_ms(), 0);
  EXPECT_EQ(second.planning_ms(), 0);
  EXPECT_EQ(second.compiles(), 0u);
}

TEST_P(Profiles, NestedProfilesCountInBoth) {
  kl::Array<float> x = kl::ones<float>({100}), y;
  std::int64_t inner = 0;
  const kl::Profile outer = kl::profile(
      [&] {
        y = axpy(1.0f, x, x);
        const kl::Profile nested = kl::profile([&] { y = axpy(2.0f, x, x); }, silent);
        ASSERT_EQ(nested.size(), 1u);
        inner = nested[0].count;
        y = axpy(3.0f, x, x);
      },
      silent);
  EXPECT_EQ(inner, 1);
  ASSERT_EQ(outer.size(), 1u);
  EXPECT_EQ(outer[0].count, 3);
}

TEST_P(Profiles, OtherThreadsCountOnlyWhenAskedFor) {
  kl::Array<float> x = kl::ones<float>({100});
  const auto work = [&] {
    std::thread([&] {
      const kl::DeviceGuard guard(device);
      const kl::Array<float> y = axpy(2.0f, x, x);
      kl::synchronize();
    }).join();
  };
  EXPECT_EQ(kl::profile(work, silent).size(), 0u);
  const kl::Profile all = kl::profile(work, {.all_threads = true, .print = false});
  ASSERT_TRUE(row_of(all, "axpy")) << all.table().c_str();
  EXPECT_EQ(row_of(all, "axpy")->count, 1);
}

TEST_P(Profiles, AnExceptionEndsTheProfile) {
  kl::Array<float> x = kl::ones<float>({100}), y;
  EXPECT_THROW(kl::profile([&]() -> void { throw std::runtime_error("mine"); }), std::runtime_error);
  kl::Profiler profiler;
  EXPECT_THROW(kl::eval(x + kl::ones<float>({3})), kl::ShapeError);
  y = axpy(2.0f, x, x);
  const kl::Profile profile = profiler.stop();
  ASSERT_TRUE(row_of(profile, "axpy"));
  EXPECT_EQ(row_of(profile, "axpy")->count, 1) << "what was refused is not counted";
  EXPECT_THROW(profiler.stop(), kl::Error);
}

TEST_P(Profiles, ManyLaunchesAreAllCounted) {
  kl::Array<float> x = kl::ones<float>({16});
  const kl::Profile profile = kl::profile(
      [&] {
        for (int i = 0; i < 10000; ++i) x = axpy(0.5f, x, x);
      },
      silent);
  ASSERT_EQ(profile.size(), 1u);
  EXPECT_EQ(profile[0].count, 10000);
  EXPECT_EQ(profile[0].bytes, std::int64_t{10000} * 2 * 16 * 4) << "one operand, named twice, and the result";
}

TEST_P(Profiles, PrintsATable) {
  kl::Array<float> x = kl::ones<float>({100}), y;
  std::ostringstream out;
  kl::profile(out, [&] { y = axpy(2.0f, x, x); });
  for (const char* part : {"kl::profile: 1 launch, 0 copies", "share", "GB/s", "host us", "axpy (profile_test.cpp:"})
    EXPECT_NE(out.str().find(part), std::string::npos) << part << " in\n" << out.str();
  testing::internal::CaptureStdout();
  kl::profile([] {});
  EXPECT_NE(testing::internal::GetCapturedStdout().find("nothing was launched"), std::string::npos);
}

TEST_P(Profiles, EveryKernelOfASplitPlanIsShown) {
  // A norm over more than a kernel holds is computed by a kernel of its own, or by one that reads its rows twice.
  kl::Array<float> x = kl::ones<float>({1 << 22});
  const auto unit = kl::jit("unit", [](auto v) { return v / kl::norm(v); });
  const kl::Inspection info = unit.inspect(x);
  kl::Array<float> y;
  const kl::Profile profile = kl::profile([&] { y = unit(x); }, silent);
  std::int64_t launches = 0, bytes = 0;
  for (const kl::ProfileRow& row : profile) launches += row.count, bytes += row.bytes;
  EXPECT_EQ(launches, static_cast<std::int64_t>(info.kernels.size())) << profile.table().c_str();
  std::int64_t moved = 0;
  for (const kl::KernelInfo& kernel : info.kernels) moved += kernel.bytes_moved;
  EXPECT_EQ(bytes, moved);
}

class Rooflines : public OnEachDevice {};
KILN_ON_EACH_DEVICE(Rooflines);

TEST_P(Rooflines, PlaceATimedRun) {
  kl::Array<float> x = kl::ones<float>({512, 256});
  const auto softmax = kl::jit([](auto v) {
    auto e = kl::exp(v - kl::max(v, -1, kl::keepdims));
    return e / kl::sum(e, -1, kl::keepdims);
  });
  const kl::Inspection info = softmax.inspect(x);
  const kl::Roofline roof = info.roofline(0.5);
  EXPECT_NEAR(roof.operations_per_byte, 5.0 / 8, 1e-12) << "max, sub, exp, sum, div for 8 bytes";
  EXPECT_NEAR(roof.gigabytes_per_second, 512.0 * 256 * 8 / 0.5e6, 1e-9);
  EXPECT_NEAR(roof.gigaoperations_per_second, 512.0 * 256 * 5 / 0.5e6, 1e-9);
  EXPECT_TRUE(roof.text().contains("operations per byte")) << roof.text().c_str();
  if (on_gpu()) {
    EXPECT_GT(roof.of_peak, 0);
    EXPECT_TRUE(roof.text().contains(device.name())) << roof.text().c_str();
  } else {
    EXPECT_EQ(roof.of_peak, -1);
  }
  EXPECT_THROW(info.roofline(0), kl::TypeError);
}

TEST_P(Rooflines, ValuesOfARowCountOncePerRow) {
  kl::Array<float> x = kl::ones<float>({512, 256});
  const auto rms = kl::jit([](auto v) { return v * kl::rsqrt(kl::sum(v * v, -1, kl::keepdims)); });
  const kl::Inspection info = rms.inspect(x);
  ASSERT_EQ(info.kernels.size(), 1u);
  EXPECT_EQ(info.kernels[0].operations, 512 * 256 * 3 + 512) << "v * v, sum and product per element, rsqrt per row";
}

}  // namespace
