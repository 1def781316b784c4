// benchmarks/support/expsin_loop.cpp -- compiled with -O3 -march=native -ffast-math: g++ calls libmvec's vector
// functions.
#include "benchmarks/support/expsin_loop.h"

#include <cmath>

namespace benchmarks {

void expsin_loop(const float* __restrict a, const float* __restrict b, const float* __restrict c, float s,
                 float* __restrict out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = std::exp(a[i] * b[i]) + std::sin(c[i]) * s;
}

}  // namespace benchmarks
