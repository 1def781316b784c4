// tests/golden/emulation.h -- enough of CUDA C++ to run emitted kernels on the CPU. Names and meanings are those of the
// CUDA C++ Programming Guide.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "support/kernel.h"
#include "tests/golden/emulation_threads.h"

// NOLINTBEGIN: these names are CUDA's.
#define __device__
#define __constant__
#define __forceinline__ inline
#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__ static
#define __CUDA_ARCH__ 750  // the paths without inline PTX

namespace kiln::emulation {

struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) double2 {
  double x, y;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline double2 make_double2(double x, double y) { return {x, y}; }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline int __float_as_int(float value) { return std::bit_cast<int>(value); }
inline float rsqrtf(float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline double __longlong_as_double(long long bits) { return std::bit_cast<double>(bits); }
inline double __dmul_rn(double a, double b) { return a * b; }
inline int __double2loint(double value) { return static_cast<int>(std::bit_cast<std::uint64_t>(value)); }
inline double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<unsigned>(high)) << 32 |
                               static_cast<unsigned>(low));
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
/// What approximations are off by, in units in the last place (twice that for exp2f); tests set it.
struct Errors {
  int exponential = 0, reciprocal = 0;
};
inline Errors errors;
inline float moved(float value, int ulps) {
  return std::isfinite(value) && value != 0 ? std::bit_cast<float>(std::bit_cast<int>(value) + ulps) : value;
}
inline float expf(float x) { return moved(static_cast<float>(std::exp(static_cast<double>(x))), errors.exponential); }
inline float exp2f(float x) {
  return moved(static_cast<float>(std::exp2(static_cast<double>(x))), 2 * errors.exponential);
}
inline float __frcp_rn(float x) { return moved(1.0f / x, errors.reciprocal); }
inline float __fmul_rn(float a, float b) { return a * b; }
template <class T>
void __stwb(T* to, T value) {
  *to = value;
}
// NOLINTEND

/// Runs `kernel` for every thread of `shape`; threads of a block take turns at barriers and warp operations only where
/// it `synchronises`. Blocks run in order, or where `seed` is not 0 in an order shuffled by it.
inline void launch(const LaunchShape& shape, bool synchronises, const std::function<void()>& kernel,
                   std::uint64_t seed = 0) {
  const auto [gx, gy, gz] = shape.grid;
  const auto [bx, by, bz] = shape.block;
  const unsigned threads = bx * by * bz;
  const unsigned cluster = shape.cluster;
  std::vector<std::uint64_t> blocks(std::uint64_t{gx} * gy * gz / cluster);  // or clusters
  std::iota(blocks.begin(), blocks.end(), std::uint64_t{0});
  for (std::size_t i = blocks.size(); seed != 0 && i > 1; --i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    std::swap(blocks[i - 1], blocks[(seed >> 33) % i]);
  }
  const auto run = [&](std::uint64_t block) {
    const auto place = [&](unsigned of_cluster) {
      const unsigned thread = of_cluster % threads;
      const std::uint64_t at = block * cluster + of_cluster / threads;
      gridDim = {gx, gy, gz}, blockDim = {bx, by, bz};
      blockIdx = {unsigned(at % gx), unsigned(at / gx % gy), unsigned(at / gx / gy)};
      threadIdx = {thread % bx, thread / bx % by, thread / (bx * by)};
    };
    if (synchronises) {
      Fibers(threads, cluster, shape.shared_bytes).run(place, kernel);
      return;
    }
    for (unsigned t = 0; t < threads; ++t) {
      place(t);
      kernel();
    }
  };
  if (host_threads == 1) {
    for (const std::uint64_t block : blocks) run(block);
    return;
  }
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> pool;
  for (unsigned host = 0; host < host_threads; ++host) {
    pool.emplace_back([&] {
      for (std::size_t i = next++; i < blocks.size(); i = next++) run(blocks[i]);
    });
  }
}

}  // namespace kiln::emulation
