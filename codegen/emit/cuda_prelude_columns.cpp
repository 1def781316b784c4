// codegen/emit/cuda_prelude_columns.cpp -- device functions of column reductions and scans. They work on the structs of
// states that the kernel declares.
#include <array>

#include "codegen/emit/cuda_prelude_table.h"

namespace kiln::codegen::cuda {
namespace {

constexpr std::array<Snippet, 3> table = {{
    {"join_rows", "", R"(
template <int Threads, class State, int N>
DEVICE void join_rows(State (&s)[N]) {  // over threadIdx.y, in a fixed order; the result is that of row 0 of the block
  __shared__ State shared[N][Threads / 2];
  for (u32 n = blockDim.y, half; n > 1; n = half) {
    half = (n + 1) / 2;
    __syncthreads();
    if (threadIdx.y >= half && threadIdx.y < n) {
#pragma unroll
      for (int k = 0; k < N; ++k) shared[k][(threadIdx.y - half) * blockDim.x + threadIdx.x] = s[k];
    }
    __syncthreads();
    if (threadIdx.y + half < n) {
#pragma unroll
      for (int k = 0; k < N; ++k) s[k] = join(s[k], shared[k][threadIdx.y * blockDim.x + threadIdx.x]);
    }
  }
}
)"},
    {"join_rows_everywhere", "join_rows", R"(
template <int Threads, class State, int N>
DEVICE void join_rows_everywhere(State (&s)[N]) {  // the same, and every thread gets the result
  join_rows<Threads>(s);
  if (blockDim.y == 1) return;
  __shared__ State shared[N][Threads / 2];
  if (threadIdx.y == 0) {
#pragma unroll
    for (int k = 0; k < N; ++k) shared[k][threadIdx.x] = s[k];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < N; ++k) s[k] = shared[k][threadIdx.x];
}
)"},
    {"arrives_last", "", R"(
DEVICE bool arrives_last(u32* counter) {  // among the blocks along grid y, all of whose writes are then visible
  __shared__ u32 arrived;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) arrived = atomicInc(counter, gridDim.y - 1);  // zero again after the last
  __syncthreads();
  __threadfence();
  return arrived == gridDim.y - 1;
}
)"},
}};

}  // namespace

std::span<const Snippet> column_snippets() { return table; }

}  // namespace kiln::codegen::cuda
