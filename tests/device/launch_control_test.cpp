// tests/device/launch_control_test.cpp -- f[{.block, .items, .grid}](...) changes how kernels run and not what they
// compute; the CPU device ignores it.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/devices.h"

namespace {

class LaunchControl : public OnEachDevice {};
KILN_ON_EACH_DEVICE(LaunchControl);

constexpr unsigned blocks[] = {32, 64, 128, 256, 512, 1024};

kl::Array<float> values(const kl::Shape& shape, std::int64_t count) {
  return (kl::sin(kl::arange<float>(count) * 0.37f) * 3).reshape(shape);
}

/// Rule: elementwise kernels give the same bits for every launch.
template <class F, class... A>
void expect_same_bits(const F& f, const A&... arguments) {
  const auto expected = f(arguments...).to_host();
  for (const unsigned block : blocks) {
    EXPECT_EQ(f[{.block = block}](arguments...).to_host(), expected) << "block " << block;
  }
}

/// Rule: a launch runs on a stream of its arrays' device; another one's is refused, and nothing is launched.
TEST_P(LaunchControl, StreamsOfAnotherDeviceAreRefused) {
  const kl::Array<float> x = kl::ones<float>({5});
  kl::Array<float> y = kl::zeros<float>({5});
  const auto f = kl::jit([](auto a) { return a + 1; });
  const kl::Stream own(device);
  const kl::Stream foreign = kl::Stream::wrap(nullptr, on_gpu() ? kl::Device::cpu() : kl::Device::cuda(0));
  EXPECT_EQ(f[{.stream = own}](x).to_host(), (std::vector<float>(5, 2)));
  EXPECT_THROW(f[{.stream = foreign}](x), kl::DeviceError);
  EXPECT_THROW(f[{.stream = foreign}].into(y)(x), kl::DeviceError);
  try {
    f[{.stream = foreign}](x);
  } catch (const kl::DeviceError& error) {
    const std::string message = error.what();
    for (const char* part : {"a stream of", "cpu", "cuda:0", "launch_control_test.cpp:", ".to(device)"})
      EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  EXPECT_EQ(y.to_host(), std::vector<float>(5, 0));
  if (!on_gpu()) return;
  const auto k = kl::raw_kernel("set", "extern \"C\" __global__ void set(float* p) { *p = 7; }");
  EXPECT_THROW((k[{.grid = 1, .block = 1, .stream = foreign}](y)), kl::DeviceError);
  k[{.grid = 1, .block = 1, .stream = own}](y);
  own.synchronize();
  EXPECT_EQ(y.to_host()[0], 7);
}

TEST_P(LaunchControl, ElementwiseKernelsKeepTheirBits) {
  const kl::Array<float> x = values({100003}, 100003), m = values({301, 403}, 301 * 403),
                         small = values({5000, 3}, 15000);
  const auto gelu = kl::jit([](auto v) { return kl::gelu(v) * 1.7f; });
  const auto with_row = kl::jit([](auto a, auto b) { return kl::exp(a) - b; });
  expect_same_bits(gelu, x);
  expect_same_bits(gelu, m(kl::range(0, 300), kl::range(1, 400)));
  expect_same_bits(with_row, m, m(3, kl::all));
  expect_same_bits(gelu, small);
  const auto expected = gelu(x).to_host();
  for (const unsigned items : {1u, 2u, 3u, 4u, 12u, 64u})
    EXPECT_EQ((gelu[{.items = items}](x).to_host()), expected) << items << " elements per thread";
  for (const unsigned grid : {1u, 7u, 132u, 100000u})
    EXPECT_EQ((gelu[{.grid = grid, .block = 128}](x).to_host()), expected) << grid << " blocks";
  EXPECT_EQ((gelu[{.block = {32, 4}}](m(kl::all, kl::range(0, 400))).to_host()),
            gelu(m(kl::all, kl::range(0, 400))).to_host());
}

TEST_P(LaunchControl, AStreamOrdersTheCallThatNamesIt) {
  const kl::Array<float> x = values({100003}, 100003);
  const auto f = kl::jit([](auto v) { return 2 * v + 1; });
  const auto expected = f(x).to_host();
  kl::synchronize();  // x is there for other streams
  kl::Stream stream(device);
  kl::Array<float> y({100003});
  f[{.stream = stream}].into(y)(x);
  stream.synchronize();
  kl::Array<float> z;
  z = f[{.block = 128, .stream = stream}](x);
  stream.synchronize();
  EXPECT_EQ(y.to_host(), expected);
  EXPECT_EQ(z.to_host(), expected);
}

TEST(LaunchExtents, OfAnyIntegersAreKeptOrRefused) {
  using kl::detail::Extent3;
  const int columns = 700;
  const Extent3 grid{(columns + 31) / 32, std::int64_t{9}};
  EXPECT_EQ(grid.x, 22u);
  EXPECT_EQ(grid.y, 9u);
  EXPECT_EQ(grid.z, 1u);
  EXPECT_EQ(Extent3(-1).x, 0xffffffffu) << "more than any launch has, and not a small number";
  EXPECT_EQ(Extent3(std::int64_t{1} << 32).x, 0xffffffffu);
}

TEST_P(LaunchControl, TransposesKeepTheirBits) {
  const kl::Array<float> a = values({384, 260}, 384 * 260), b = values({260, 384}, 384 * 260);
  const auto f = kl::jit([](auto u, auto v) { return u + v.t(); });
  const auto expected = f(a, b).to_host();
  for (const unsigned block : {64u, 128u, 256u, 512u, 1024u})
    EXPECT_EQ((f[{.block = block}](a, b).to_host()), expected) << block;
  EXPECT_EQ((f[{.block = 128, .items = 32}](a, b).to_host()), expected);
  EXPECT_EQ((f[{.items = 4}](a, b).to_host()), expected);
}

/// Rule: reductions of integers and of exact sums are exact in every schedule.
TEST_P(LaunchControl, ReductionsAndScansStayCorrect) {
  const auto check = [](std::int64_t rows, std::int64_t columns) {
    const kl::Array<std::int32_t> x = (kl::arange<std::int32_t>(rows * columns) % 101 - 50).reshape({rows, columns});
    const kl::Array<float> f = x.astype<float>();
    const auto row_sum = kl::jit([](auto v) { return kl::sum(v, 1); });
    const auto column_sum = kl::jit([](auto v) { return kl::sum(v, 0); });
    const auto normalised = kl::jit([](auto v) { return v - kl::max(v, 1, kl::keepdims); });
    const auto running = kl::jit([](auto v) { return kl::cumsum(v, 1); });
    const auto down = kl::jit([](auto v) { return kl::cumsum(v, 0); });
    const auto by_row = row_sum(x).to_host();
    const auto by_column = column_sum(x).to_host();
    const auto below = normalised(f).to_host();
    const auto sums = running(x).to_host(), sums_down = down(x).to_host();
    for (const unsigned block : blocks) {
      EXPECT_EQ(row_sum[{.block = block}](x).to_host(), by_row) << block;
      EXPECT_EQ(column_sum[{.block = block}](x).to_host(), by_column) << block;
      EXPECT_EQ(normalised[{.block = block}](f).to_host(), below) << block;
      if (block >= 64) {
        EXPECT_EQ(running[{.block = block}](x).to_host(), sums) << block;
        EXPECT_EQ(down[{.block = block}](x).to_host(), sums_down) << block;
      }
    }
    const auto as_float = row_sum(f).to_host();  // sums below 2^24: exact in any order
    for (const unsigned items : {4u, 8u, 32u})
      EXPECT_EQ((row_sum[{.block = 128, .items = items}](f).to_host()), as_float) << items;
  };
  check(3, 100000);
  check(512, 1024);
  check(20000, 24);
  check(24, 20000);
}

TEST_P(LaunchControl, WhatNoLaunchCanHaveIsRefusedOnAGpuAndIgnoredOnTheCpu) {
  const kl::Array<float> m = values({64, 1000}, 64000);
  const auto rows = kl::jit([](auto v) { return kl::sum(v, 1); });
  const auto twice = kl::jit([](auto v) { return v * 2; });
  if (!on_gpu()) {
    EXPECT_EQ(rows[{.block = 96}](m).size(), 64);
    EXPECT_EQ(twice[{.block = 4096}](m).size(), 64000);
    return;
  }
  EXPECT_THROW(rows[{.block = 96}](m), kl::ShapeError);
  EXPECT_THROW((rows[{.block = {32, 4}}](m)), kl::ShapeError);
  EXPECT_THROW((rows[{.items = 6}](m)), kl::ShapeError);
  EXPECT_THROW((rows[{.grid = 1}](m)), kl::ShapeError);
  EXPECT_THROW(twice[{.block = 4096}](m), kl::ShapeError);
  EXPECT_THROW((twice[{.items = 100}](m)), kl::ShapeError);
}

}  // namespace
