// tests/device/raw_kernel_test.cpp -- the user's own CUDA kernels run, with the values that C++ computes.
#include <dlfcn.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/devices.h"

namespace {

class RawKernel : public OnEachDevice {
 protected:
  void SetUp() override {
    OnEachDevice::SetUp();
    if (!IsSkipped() && !on_gpu()) GTEST_SKIP() << "raw kernels are CUDA text";
  }
};
KILN_ON_EACH_DEVICE(RawKernel);

using Floats = std::vector<float>;

constexpr const char* transpose_source = R"(
extern "C" __global__ void transpose(float* out, const float* in, int rows, int columns) {
  extern __shared__ float tile[];  // 32 rows of 33: columns of a tile lie in different banks
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < columns && y + j < rows) tile[(threadIdx.y + j) * 33 + threadIdx.x] = in[(y + j) * columns + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < rows && y + j < columns) out[(y + j) * rows + x] = tile[threadIdx.x * 33 + threadIdx.y + j];
})";

TEST_P(RawKernel, TransposesThroughSharedMemory) {
  constexpr int rows = 1000, columns = 333;
  const kl::Array<float> in = kl::arange<float>(rows * columns).reshape({rows, columns});
  kl::Array<float> out({columns, rows});
  const kl::RawKernel transpose = kl::raw_kernel("transpose", transpose_source);
  kl::Stream stream(device);
  kl::synchronize();
  transpose[{.grid = {(columns + 31) / 32, (rows + 31) / 32},
             .block = {32, 8},
             .shared_bytes = 32 * 33 * 4,
             .stream = stream}](out, in, rows, columns);
  stream.synchronize();
  const Floats got = out.to_host();
  for (int c = 0; c < columns; ++c)
    for (int r = 0; r < rows; ++r)
      ASSERT_EQ(got[static_cast<std::size_t>(c * rows + r)], static_cast<float>(r * columns + c)) << r << ", " << c;
}

TEST_P(RawKernel, TemplatesStructuresAndEveryElementOnce) {
  const char* const source = R"(
struct Line { double slope; float offset; };
template <class T> __global__ void apply(T* x, Line line, long long n, unsigned* calls) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(calls, 1u);
  x[i] = T(x[i] * line.slope + line.offset);
})";
  struct Line {
    double slope;
    float offset;
  };
  constexpr std::int64_t n = 1000003;
  kl::Array<double> x = kl::arange<double>(n);
  kl::Array<std::uint32_t> calls = kl::zeros<std::uint32_t>({1});
  kl::raw_kernel("apply<double>", source).over(n)(x, Line{0.5, 3.0f}, n, calls);
  EXPECT_EQ(calls.item(), n);
  EXPECT_EQ(x(n - 1).item(), (n - 1) * 0.5 + 3.0);
  EXPECT_EQ(x(0).item(), 3.0);
}

TEST_P(RawKernel, LargeSharedMemoryAndCooperationWork) {
  const char* const source = R"(
#include <cooperative_groups.h>
extern "C" __global__ void fill(float* out, int words) {
  extern __shared__ float data[];
  for (int i = threadIdx.x; i < words; i += blockDim.x) data[i] = i;
  cooperative_groups::this_grid().sync();
  float sum = 0;
  if (threadIdx.x == 0) {
    for (int i = 0; i < words; ++i) sum += data[i] == i;
    atomicAdd(out, sum);
  }
})";
  kl::Array<float> out = kl::zeros<float>({1});
  constexpr int words = 24 << 10;  // 96 KiB
  try {
    kl::raw_kernel("fill", source)[{.grid = 8, .block = 256, .shared_bytes = words * 4, .cooperative = true}](out,
                                                                                                              words);
  } catch (const kl::CompileError& error) {
    if (std::string(error.what()).find("cooperative_groups.h") == std::string::npos) throw;
    GTEST_SKIP() << "no CUDA toolkit headers here: " << error.what();
  }
  EXPECT_EQ(out.item(), 8.0f * words);
}

/// The table of architectures against the driver, for this device.
TEST_P(RawKernel, OccupancyIsThatOfTheDriver) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr);
  using LoadData = int (*)(void**, const void*);
  using GetFunction = int (*)(void**, void*, const char*);
  using SetAttribute = int (*)(void*, int, int);
  using Occupancy = int (*)(int*, void*, int, std::size_t);
  const auto load = reinterpret_cast<LoadData>(dlsym(library, "cuModuleLoadData"));
  const auto get = reinterpret_cast<GetFunction>(dlsym(library, "cuModuleGetFunction"));
  const auto set = reinterpret_cast<SetAttribute>(dlsym(library, "cuFuncSetAttribute"));
  const auto blocks_of = reinterpret_cast<Occupancy>(dlsym(library, "cuOccupancyMaxActiveBlocksPerMultiprocessor"));
  ASSERT_TRUE(load && get && set && blocks_of);
  const kl::RawKernel kernel = kl::raw_kernel("transpose", transpose_source);
  kl::Array<float> warm = kl::zeros<float>({1});  // binds a context
  void *module = nullptr, *function = nullptr;
  const auto first = kernel.inspect();
  ASSERT_EQ(load(&module, first.kernels[0].ptx.c_str()), 0);
  ASSERT_EQ(get(&function, module, "transpose"), 0);
  constexpr int max_dynamic_shared = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
  for (const unsigned shared : {0u, 4224u, 40000u, 90000u}) {
    if (set(function, max_dynamic_shared, static_cast<int>(shared)) != 0) continue;  // more than this device has
    for (const unsigned block : {32u, 64u, 160u, 256u, 512u, 1024u}) {
      int blocks = -1;
      ASSERT_EQ(blocks_of(&blocks, function, static_cast<int>(block), shared), 0);
      const auto info = kernel[{.block = block, .shared_bytes = shared}].inspect();
      const std::string expected = std::to_string(blocks) + " blocks are resident";
      EXPECT_TRUE(info.explain().contains(expected.c_str()))
          << expected << " of " << block << " threads and " << shared << " bytes, not: " << info.explain();
    }
  }
}

class RawKernelErrors : public OnEachDevice {};
KILN_ON_EACH_DEVICE(RawKernelErrors);

TEST_P(RawKernelErrors, SayWhatToDo) {
  const kl::RawKernel transpose = kl::raw_kernel("transpose", transpose_source);
  const kl::Array<float> x({4, 4});
  kl::Array<float> y({4, 4});
  const auto message = [&](auto call) -> std::string {
    try {
      call();
    } catch (const kl::Error& error) {
      return error.what();
    }
    return "no error";
  };
  if (!on_gpu()) {
    const std::string text = message([&] { transpose[{.grid = 1, .block = {32, 8}}](y, x, 4, 4); });
    const bool has_gpu = kl::Device::cuda().is_available();
    EXPECT_NE(text.find(has_gpu ? ".to(kl::Device::cuda())" : "kl::jit"), std::string::npos) << text;
    return;
  }
  const std::string few = message([&] { transpose[{.grid = 1, .block = {32, 8}}](y, x, 4); });
  EXPECT_NE(few.find("takes 4 parameters and got 3 arguments"), std::string::npos) << few;
  EXPECT_NE(few.find("raw_kernel_test.cpp"), std::string::npos) << few;
  const std::string wide = message([&] { transpose[{.grid = 1, .block = {32, 8}}](y, x, 4, x.size()); });
  EXPECT_NE(wide.find("'int columns' (4 bytes)"), std::string::npos) << wide;
}

}  // namespace
