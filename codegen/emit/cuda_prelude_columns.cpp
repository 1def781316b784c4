// codegen/emit/cuda_prelude_columns.cpp -- device functions of column reductions and scans. They work on the structs of
// states that the kernel declares.
#include <array>

#include "codegen/emit/cuda_prelude_table.h"

namespace kiln::codegen::cuda {
namespace {

constexpr std::array<Snippet, 10> table = {{
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
    {"scan_rows", "", R"(
template <int Threads, class State, int N>  // all: in the sum of the thread, out of the block; before: in the identity
DEVICE void scan_rows(State (&before)[N], State (&all)[N]) {
  if (blockDim.y == 1) return;
  __shared__ State shared[N][Threads];
  const u32 thread = threadIdx.y * blockDim.x + threadIdx.x, step = blockDim.x;
  u32 distance = blockDim.y > 16 ? 1 : 0;
  for (; distance > 0 && distance < blockDim.y; distance *= 2) {  // many rows: in logarithmic steps
    __syncthreads();
#pragma unroll
    for (int k = 0; k < N; ++k) shared[k][thread] = all[k];
    __syncthreads();
    if (threadIdx.y < distance) continue;
#pragma unroll
    for (int k = 0; k < N; ++k) all[k] = join(shared[k][thread - distance * step], all[k]);
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < N; ++k) shared[k][thread] = all[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < N; ++k) {
    if (distance > 0) {
      if (threadIdx.y > 0) before[k] = shared[k][thread - step];
      all[k] = shared[k][thread + (blockDim.y - 1 - threadIdx.y) * step];
      continue;
    }
    State run = before[k];
    for (u32 row = 0; row < blockDim.y; ++row) {
      if (row == threadIdx.y) before[k] = run;
      run = join(run, shared[k][row * step + threadIdx.x]);
    }
    all[k] = run;
  }
}
)"},
    {"scan_lanes", "", R"(
template <int Lanes, class State, int N>  // vector after vector; the sum of the row. before: in the identity
DEVICE State scan_lanes(State (&before)[N], const State (&all)[N]) {
  const int self = threadIdx.x % 32, lane = threadIdx.x % Lanes;
  State run = before[0];
#pragma unroll
  for (int u = 0; u < N; ++u) {
    State sum = all[u];
    before[u] = run;
#pragma unroll
    for (int distance = 1; distance < Lanes; distance *= 2) {
      const State other = from_lane(sum, self - distance);
      if (lane >= distance) sum = join(other, sum);
    }
    if (Lanes > 1) {
      const State previous = from_lane(sum, self - 1);
      if (lane > 0) before[u] = join(run, previous);
      sum = from_lane(sum, self - lane + Lanes - 1);
    }
    run = join(run, sum);
  }
  return run;
}
)"},
    {"scan_warps", "", R"(
template <int Warps, class State>  // the sum of the block; before: in the identity, out what precedes the warp
DEVICE State scan_warps(State& before, const State& sum) {
  __shared__ State shared[Warps];
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum;
  __syncthreads();
  State run = before;
#pragma unroll
  for (u32 warp = 0; warp < Warps; ++warp) {
    if (warp == threadIdx.x / 32) before = run;
    run = join(run, shared[warp]);
  }
  return run;
}
)"},
    {"take_ticket", "", R"(
DEVICE u32 take_ticket(u32* counters) {
  __shared__ u32 ticket;
  if (threadIdx.x == 0 && threadIdx.y == 0) ticket = atomicAdd(counters, 1u);
  __syncthreads();
  return ticket;
}
)"},
    {"leave_zeros", "", R"(
DEVICE void leave_zeros(u32* counters, u32 count) {  // by the block that ends last: no other one reads them any more
  __shared__ u32 ended;
  const u32 thread = threadIdx.y * blockDim.x + threadIdx.x;
  __syncthreads();
  if (thread == 0) {
    __threadfence();
    ended = atomicAdd(counters + 1, 1u);
  }
  __syncthreads();
  if (ended != gridDim.x - 1) return;
  __threadfence();
  for (u32 i = thread; i < count; i += blockDim.x * blockDim.y) counters[i] = 0;
}
)"},
    {"nearest_prefix", "", R"(
// By one warp: how many pieces back the nearest known prefix stands; the sums of the pieces after it are known too.
DEVICE u32 nearest_prefix(const u32* flags, u32 tiles, u32 ticket, u32 lane) {
  for (u32 first = 1;;) {
    const u32 distance = first + lane;
    const bool exists = u64(distance) * tiles <= ticket;
    const u32 flag = exists ? *reinterpret_cast<const volatile u32*>(flags + (ticket - distance * tiles)) : 1;
    const u32 known = __ballot_sync(~0u, flag == 2), missing = __ballot_sync(~0u, flag == 0);
    if (known != 0 && (missing & ((known & (0u - known)) - 1)) == 0) return first + __ffs(known) - 1;
    if (known == 0 && missing == 0) first += 32;
  }
}
)"},
    {"look_back", "nearest_prefix load_state", R"(
// Publishes the sums `all` of this piece, finds what precedes it, and publishes the prefix that follows: always joined
// piece by piece from the first one on, so that the result does not depend on how far back a prefix was found. The
// threads that `speak` hold the columns from `column` on; all threads of one `slot` get the same carry.
template <int Slots, class State, int N>
DEVICE void look_back(State (&carry)[N], State (&low)[N], const State (&all)[N], bool speaks, u32 slot, u32 column,
                      u32 width, u32 tiles, u32 ticket, u32* flags, State* states) {
  __shared__ State told[N][Slots];
  __shared__ u32 back;
  const u32 thread = threadIdx.y * blockDim.x + threadIdx.x;
  State* const sums = states + column;
  State* const prefixes = states + u64(gridDim.x) * width + 2 * column;
  if (ticket >= tiles) {
    if (speaks) {
#pragma unroll
      for (int k = 0; k < N; ++k) sums[u64(ticket) * width + k] = all[k];
    }
    __threadfence();
    __syncthreads();
    if (thread == 0) *reinterpret_cast<volatile u32*>(flags + ticket) = 1;
    if (thread < 32) {
      const u32 distance = nearest_prefix(flags, tiles, ticket, thread);
      if (thread == 0) back = distance;
    }
    __syncthreads();
    __threadfence();
    u32 at = ticket - back * tiles;
    if (speaks) {
#pragma unroll
      for (int k = 0; k < N; ++k) {
        carry[k] = load_state(prefixes + u64(at) * 2 * width + 2 * k);
        low[k] = load_state(prefixes + u64(at) * 2 * width + 2 * k + 1);
      }
      for (at += tiles; at < ticket; at += 4 * tiles) {
        State next[4][N];
#pragma unroll
        for (int u = 0; u < 4; ++u) {
          const u32 piece = at + u * tiles < ticket ? at + u * tiles : at;
#pragma unroll
          for (int k = 0; k < N; ++k) next[u][k] = load_state(sums + u64(piece) * width + k);
        }
#pragma unroll
        for (int u = 0; u < 4; ++u) {
          if (at + u * tiles >= ticket) break;
#pragma unroll
          for (int k = 0; k < N; ++k) accumulate(carry[k], low[k], next[u][k]);
        }
      }
    }
  }
  if (speaks) {
#pragma unroll
    for (int k = 0; k < N; ++k) {
      State sum = carry[k], rest = low[k];
      accumulate(sum, rest, all[k]);
      prefixes[u64(ticket) * 2 * width + 2 * k] = sum;
      prefixes[u64(ticket) * 2 * width + 2 * k + 1] = rest;
      told[k][slot] = total(carry[k], low[k]);
    }
  }
  __threadfence();
  __syncthreads();
  if (thread == 0) *reinterpret_cast<volatile u32*>(flags + ticket) = 2;
#pragma unroll
  for (int k = 0; k < N; ++k) carry[k] = told[k][slot];
}
)"},
}};

}  // namespace

std::span<const Snippet> column_snippets() { return table; }

}  // namespace kiln::codegen::cuda
