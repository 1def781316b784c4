// benchmarks/support/expsin_loop.h -- the loop that a C++ programmer would write for exp(a*b) + sin(c)*s.
#pragma once

#include <cstddef>

namespace benchmarks {

void expsin_loop(const float* a, const float* b, const float* c, float s, float* out, std::size_t n);

}  // namespace benchmarks
