// tests/golden/emulation.h -- enough of CUDA C++ to run emitted kernels on the CPU, one host thread per device thread
// where they synchronise. Names and meanings are those of the CUDA C++ Programming Guide.
#pragma once

#include <barrier>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "support/kernel.h"

// NOLINTBEGIN: these names are CUDA's.
#define __device__
#define __forceinline__ inline
#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__ static
#define __CUDA_ARCH__ 750  // the paths without inline PTX

namespace kiln::emulation {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};
inline thread_local Dim3 threadIdx, blockIdx, blockDim, gridDim;
inline std::barrier<>* block_barrier = nullptr;

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
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline double __longlong_as_double(long long bits) { return std::bit_cast<double>(bits); }
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
inline void __syncthreads() { block_barrier->arrive_and_wait(); }
template <class T>
void __stwb(T* to, T value) {
  *to = value;
}
// NOLINTEND

/// Runs `kernel` for every thread of `shape`; threads of a block run side by side only where `synchronises`.
inline void launch(const LaunchShape& shape, bool synchronises, const std::function<void()>& kernel) {
  const auto [gx, gy, gz] = shape.grid;
  const auto [bx, by, bz] = shape.block;
  const unsigned threads = bx * by * bz;
  const auto run = [&](unsigned x, unsigned y, unsigned z, unsigned thread) {
    gridDim = {gx, gy, gz}, blockDim = {bx, by, bz}, blockIdx = {x, y, z};
    threadIdx = {thread % bx, thread / bx % by, thread / (bx * by)};
    kernel();
  };
  for (unsigned z = 0; z < gz; ++z)
    for (unsigned y = 0; y < gy; ++y)
      for (unsigned x = 0; x < gx; ++x) {
        if (!synchronises) {
          for (unsigned t = 0; t < threads; ++t) run(x, y, z, t);
          continue;
        }
        std::barrier<> barrier(threads);
        block_barrier = &barrier;
        std::vector<std::jthread> pool;
        for (unsigned t = 0; t < threads; ++t) pool.emplace_back(run, x, y, z, t);
      }
}

}  // namespace kiln::emulation
