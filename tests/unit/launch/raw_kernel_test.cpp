// tests/unit/launch/raw_kernel_test.cpp -- the user's own kernels on a fake GPU: what is passed, checked and launched.
#include "tests/unit/launch/fake_gpu.h"

#include <array>
#include <cstring>
#include <thread>

namespace kiln {
namespace {

constexpr const char* transpose_source = R"(
extern "C" __global__ void transpose(float* out, const float* __restrict__ in, int n) {
  extern __shared__ float tile[];
  tile[threadIdx.y * blockDim.x + threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.y] + n;
})";

constexpr const char* values_source = R"(
struct Box { double size; char name[12]; };
__global__ void __launch_bounds__(128) values(bool b, short h, long long w, double d, Box box, const void* p, float* q) {
  if (q) *q = b + h + w + d + box.size + (p != nullptr);
})";

constexpr const char* scale_source = R"(
namespace ns {
template <class T, int N>
__global__ void scale(T* x, T by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by * T(N);
}
})";

class RawKernels : public FakeGpuTest {
 protected:
  Array<float> in{{8, 8}}, out{{8, 8}};
  const RawKernel transpose = raw_kernel("transpose", transpose_source);
};

/// Whether `message` has all the parts.
testing::AssertionResult says(const std::string& message, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    if (message.find(part) == std::string::npos)
      return testing::AssertionFailure() << "\"" << part << "\" is not in: " << message;
  return testing::AssertionSuccess();
}

TEST_F(RawKernels, ArgumentsArriveInTheirOwnSizes) {
  fake_driver().parameter_bytes = {8, 8, 4};
  transpose[{.grid = {2, 3}, .block = {32, 8}, .shared_bytes = 4224}](out, in, 7);
  EXPECT_EQ(last("cuLaunchKernel"), "cuLaunchKernel stream=0 grid=2,3,1 block=32,8,1 shared=4224");
  const void* pointers[2];
  int n = 0;
  ASSERT_EQ(fake_driver().arguments.size(), 20u);
  std::memcpy(pointers, fake_driver().arguments.data(), 16);
  std::memcpy(&n, fake_driver().arguments.data() + 16, 4);
  EXPECT_EQ(pointers[0], out.data());
  EXPECT_EQ(pointers[1], in.data());
  EXPECT_EQ(n, 7);
}

TEST_F(RawKernels, NumbersStructuresAndNullPass) {
  struct Box {
    double size;
    char name[12];
  };
  const RawKernel values = raw_kernel("values", values_source);
  fake_driver().parameter_bytes = {1, 2, 8, 8, sizeof(Box), 8, 8};
  const Box box{2.5, "kiln"};
  values[{.grid = 1}](true, std::int16_t{-3}, std::int64_t{1} << 40, scalar<double>(0.5), box, nullptr, out(3, all));
  const unsigned char* at = fake_driver().arguments.data();
  ASSERT_EQ(fake_driver().arguments.size(), 35u + sizeof(Box));
  EXPECT_EQ(at[0], 1);
  std::int16_t h;
  std::int64_t w;
  double d, size;
  std::uint64_t p, q;
  std::memcpy(&h, at + 1, 2);
  std::memcpy(&w, at + 3, 8);
  std::memcpy(&d, at + 11, 8);
  std::memcpy(&size, at + 19, 8);
  std::memcpy(&p, at + 19 + sizeof(Box), 8);
  std::memcpy(&q, at + 27 + sizeof(Box), 8);
  EXPECT_EQ(h, -3);
  EXPECT_EQ(w, std::int64_t{1} << 40);
  EXPECT_EQ(d, 0.5);
  EXPECT_EQ(size, 2.5);
  EXPECT_EQ(p, 0u);
  EXPECT_EQ(q, reinterpret_cast<std::uint64_t>(out.data() + 3 * 8)) << "a view is the address of its first element";
}

TEST_F(RawKernels, ALaunchOnAnotherStreamKeepsTheArraysUntilItIsDone) {
  Stream stream(Device::cuda(0));
  {
    Array<float> temporary({64});
    transpose[{.grid = 1, .block = 32, .stream = stream}](temporary, in, 8);
    clear();
  }
  EXPECT_EQ(count("cuEventRecord"), 1) << "freed after the stream that used it";
  EXPECT_EQ(count("cuStreamWaitEvent"), 1);
  EXPECT_EQ(count("cuMemFreeAsync"), 1);
}

TEST_F(RawKernels, TemplatesAndNamespacesAreNamedByExpressions) {
  const RawKernel scale = raw_kernel("ns::scale<float, 4>", scale_source);
  scale.over(1000)(in, 2.0f, 64);
  EXPECT_EQ(count("cuLibraryGetKernel _ZN2ns5scaleIfLi4EEEvPT_S1_i"), 1);
  const RawKernel doubles = raw_kernel("ns::scale<double, 4>", scale_source);
  EXPECT_TRUE(says(message_of<TypeError>([&] { doubles.over(1000)(in, 2.0, 64); }),
                   {"parameter 0 is 'double*'", "argument 0 is an array of f32", "shape (8, 8)", "astype"}));
  EXPECT_TRUE(says(message_of<TypeError>([&] { scale.over(1000)(in, 2, 64); }),
                   {"parameter 1 is 'float'", "argument 1 is i32", "not converted", "raw_kernel_test.cpp"}));
}

TEST_F(RawKernels, ArgumentsAreCheckedAgainstTheCompiledKernel) {
  const auto call = [&](auto... arguments) {
    return message_of<TypeError>([&] { transpose[{.grid = 1, .block = 32}](arguments...); });
  };
  EXPECT_TRUE(says(call(&out, nullptr), {"takes 3 parameters and got 2 arguments", "8 bytes at offset 0, float* out",
                                         "8 bytes at offset 8, const float* __restrict__ in",
                                         "4 bytes at offset 16, int n", "argument 1: nullptr", "raw_kernel_test.cpp"}));
  EXPECT_TRUE(
      says(call(nullptr, nullptr, out.size()), {"parameter 2 is 'int n' (4 bytes)", "argument 2 is i64 (8 bytes)"}));
  EXPECT_TRUE(says(call(nullptr, nullptr, 1.0f), {"argument 2 is f32 (4 bytes)", "of type i32"}));
  EXPECT_TRUE(says(call(1, nullptr, 1), {"parameter 0 is 'float* out'", "argument 0 is i32"}));
  EXPECT_TRUE(says(message_of<TypeError>([&] { transpose[{.grid = 1, .block = 32}](out, in, in); }), {"parameter 2"}));
  const Array<double> wide({4});
  EXPECT_TRUE(says(message_of<TypeError>([&] { transpose[{.grid = 1, .block = 32}](wide, in, 1); }),
                   {"'float* out'", "array of f64"}));
  EXPECT_NO_THROW((transpose[{.grid = 1, .block = 32}](wide.data(), in, 1u))) << "addresses and signs are the user's";
  EXPECT_EQ(count("cuLaunchKernel"), 1) << "nothing else was launched";
}

TEST_F(RawKernels, ArraysMustBeOnTheGpu) {
  const Array<float> host = in.to(Device::cpu()), nothing;
  const auto call = [&](const Array<float>& a, const Array<float>& b) { transpose[{.grid = 1, .block = 32}](a, b, 1); };
  EXPECT_TRUE(
      says(message_of<DeviceError>([&] { call(host, in); }), {"argument 0 is on the CPU", ".to(kl::Device::cuda())"}));
  EXPECT_TRUE(says(message_of<DeviceError>([&] { call(in, host); }), {"argument 1 is on the CPU"}));
  EXPECT_TRUE(says(message_of<ShapeError>([&] { call(in, nothing); }), {"argument 1 is a default-constructed array"}));
  const DeviceGuard cpu(Device::cpu());
  EXPECT_NO_THROW(call(out, in)) << "arrays say where the kernel runs";
  EXPECT_TRUE(says(message_of<DeviceError>([&] { transpose[{.grid = 1, .block = 32}](nullptr, nullptr, 1); }),
                   {"the current device is the CPU"}));
}

TEST_F(RawKernels, LaunchesThatNoGpuCanDoAreRefused) {
  const auto refused = [&](const Launch& launch) {
    return message_of<ShapeError>([&] { transpose[launch](out, in, 1); });
  };
  EXPECT_TRUE(says(refused({.block = 32}), {"how many blocks run is not said", ".over(n)"}));
  EXPECT_TRUE(says(refused({.grid = 0, .block = 32}), {"a grid of 0x1x1 has no blocks"}));
  EXPECT_TRUE(says(refused({.grid = {1, 70000}, .block = 32}), {"1x70000x1", "65535 along y"}));
  EXPECT_TRUE(says(refused({.grid = 1, .block = {64, 32}}), {"64x32x1 (2048 threads)", "1024"}));
  EXPECT_TRUE(says(refused({.grid = 1, .block = {1, 1, 65}}), {"64 along z"}));
  EXPECT_TRUE(says(refused({.grid = 1, .block = {32, 0}}), {"has no threads"}));
  EXPECT_TRUE(says(refused({.grid = 1, .block = 32, .shared_bytes = 1 << 20}), {"1048576 bytes", "232448"}));
  EXPECT_TRUE(says(refused({.grid = 5, .block = 32, .cluster = 2}), {"whole clusters"}));
  EXPECT_TRUE(says(refused({.grid = 34, .block = 32, .cluster = 17}), {"at most 16"}));
  EXPECT_TRUE(says(refused({.grid = 4225, .block = 32, .cooperative = true}),
                   {"4225 blocks", "at most 4224", "32 on each of 132"}));
  EXPECT_TRUE(says(message_of<ShapeError>([&] {
                     raw_kernel("values", values_source)[{.grid = 1, .block = 256}](
                         true, std::int16_t{1}, std::int64_t{1}, 1.0, std::array<char, 24>(), nullptr, in);
                   }),
                   {"256 threads", "at most 128", "__launch_bounds__"}));
  EXPECT_TRUE(
      says(message_of<ShapeError>([&] { transpose.over(std::int64_t{1} << 42)(out, in, 1); }), {"grid-stride"}));
  EXPECT_TRUE(says(message_of<ShapeError>([&] { transpose.over(-1)(out, in, 1); }), {"over(-1)"}));
  EXPECT_TRUE(says(message_of<ShapeError>([&] { transpose[{.grid = 1}].over(8)(out, in, 1); }), {"both"}));
  EXPECT_EQ(count("cuLaunch"), 0);
}

TEST_F(RawKernels, LargeSharedMemoryClustersAndCooperationAreAskedFor) {
  transpose[{.grid = 1, .block = 32, .shared_bytes = 100 << 10}](out, in, 1);
  EXPECT_EQ(last("cuKernelSetAttribute"), "cuKernelSetAttribute 102400");
  transpose[{.grid = 4, .block = 32, .cluster = 2}](out, in, 1);
  EXPECT_NE(last("cuLaunchKernelEx").find("cluster=2"), std::string::npos);
  transpose[{.grid = 4224, .block = 32, .cooperative = true}](out, in, 1);
  EXPECT_NE(last("cuLaunchKernelEx").find("cooperative=1"), std::string::npos);
}

TEST_F(RawKernels, OverNCoversTheElements) {
  transpose.over(1000)(out, in, 1);
  EXPECT_EQ(last("cuLaunchKernel"), "cuLaunchKernel stream=0 grid=4,1,1 block=256,1,1 shared=0")
      << "256 is the closest of the sizes that fill an sm_90";
  transpose[{.block = 64}].over(65)(out, in, 1);
  EXPECT_EQ(last("cuLaunchKernel"), "cuLaunchKernel stream=0 grid=2,1,1 block=64,1,1 shared=0");
  clear();
  transpose.over(0)(out, in, 1);
  EXPECT_EQ(count("cuLaunch"), 0);
}

TEST_F(RawKernels, CompileOnceWhoeverAsks) {
  const RawKernel fresh = raw_kernel("fresh", "extern \"C\" __global__ void fresh(int) {}");
  clear();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([copy = fresh] {
      const DeviceGuard here(Device::cuda(0));
      copy[{.grid = 1, .block = 32}](1);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count("cuLaunchKernel"), 4);
  EXPECT_EQ(count("cuLibraryLoadData"), 1);
}

TEST_F(RawKernels, HeadersDefinesAndStandardsReachTheCompiler) {
  const char* const source =
      "#include \"widths.h\"\n#include <cuda_fp16.h>\n"
      R"(
template <class T> concept Number = width == COUNT;  // C++20
extern "C" __global__ void sized(__half* out) { static_assert(Number<int>); out[0] = __float2half(width); })";
  RawOptions options{.defines = {"COUNT=3"}, .std = "c++20", .headers = {{"widths.h", "constexpr int width = 3;"}}};
  const RawKernel sized = raw_kernel("sized", source, options);
  EXPECT_NO_THROW(sized.compile({.archs = {"sm_80", "sm_90"}}));
  Array<half> halves({1});
  sized[{.grid = 1, .block = 1}](halves);
  EXPECT_THROW((sized[{.grid = 1, .block = 1}](in)), TypeError) << "f32 is not __half";
  options.defines = {"COUNT=4"};
  EXPECT_TRUE(says(message_of<CompileError>([&] { raw_kernel("sized", source, options).compile(); }),
                   {"static assert", "sized.cu(", "> "}))
      << "options are part of the key";
}

TEST_F(RawKernels, WhatDoesNotCompileSaysWhy) {
  EXPECT_TRUE(says(message_of<CompileError>([&] { raw_kernel("other", transpose_source).compile(); }),
                   {"'other' names no __global__ function", "declares transpose."}));
  EXPECT_TRUE(
      says(message_of<CompileError>([&] { transpose.compile({.archs = {"sm_90", "hopper"}}); }), {"hopper", "sm_90"}));
  EXPECT_THROW(raw_kernel("", transpose_source), CompileError);
  const DeviceGuard cpu(Device::cpu());
  EXPECT_TRUE(says(message_of<DeviceError>([&] { transpose.compile(); }), {".archs"}));
  EXPECT_TRUE(says(message_of<DeviceError>([&] { transpose.inspect(); }), {"k.inspect(\"sm_90\")"}));
}

TEST_F(RawKernels, InspectNeedsNoGpu) {
  const auto info = transpose[{.block = {32, 8}, .shared_bytes = 4224}].inspect("sm_80");
  ASSERT_EQ(info.kernels.size(), 1u);
  const KernelInfo& kernel = info.kernels[0];
  EXPECT_TRUE(kernel.ptx.contains(".entry transpose"));
  EXPECT_TRUE(kernel.source.contains("__syncthreads"));
  EXPECT_GT(kernel.registers, 0);
  EXPECT_EQ(kernel.spills, 0);
  EXPECT_EQ(kernel.occupancy, 1.0) << "8 warps of few registers: 8 blocks of 5.1 KiB on an sm_80";
  EXPECT_TRUE(says(info.explain(), {"parameter 2: 4 bytes at offset 16, int n", "sm_80", "8 blocks are resident"}));
}

}  // namespace
}  // namespace kiln
