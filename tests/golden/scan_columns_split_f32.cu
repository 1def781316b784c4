// cumsum(x)
// schedule: scan, 256 threads per block, vectors of 4, 8 per thread, by columns, pieces look back

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
#define DEVICE static __device__ __forceinline__

template <int Bytes> struct Word;  // the type that moves so many bytes in one access
template <> struct Word<1> { typedef u8 type; };
template <> struct Word<2> { typedef u16 type; };
template <> struct Word<4> { typedef u32 type; };
template <> struct Word<8> { typedef uint2 type; };
template <> struct Word<16> { typedef uint4 type; };

template <int Width, int N, class T>  // N neighbours, Width elements per access
DEVICE void read(T (&to)[N], const T* from) {
  union Piece { typename Word<Width * sizeof(T)>::type word; T at[Width]; };
#pragma unroll
  for (int n = 0; n < N; n += Width) {
    Piece piece;
    piece.word = *reinterpret_cast<const typename Word<Width * sizeof(T)>::type*>(from + n);
#pragma unroll
    for (int k = 0; k < Width; ++k) to[n + k] = piece.at[k];
  }
}

template <int Width, int N, class T>
DEVICE void write(T* to, const T (&from)[N]) {
  union Piece { typename Word<Width * sizeof(T)>::type word; T at[Width]; };
#pragma unroll
  for (int n = 0; n < N; n += Width) {
    Piece piece;
#pragma unroll
    for (int k = 0; k < Width; ++k) piece.at[k] = from[n + k];
    __stwb(reinterpret_cast<typename Word<Width * sizeof(T)>::type*>(to + n), piece.word);  // one instruction, never split
  }
}

struct Divisor { u32 multiplier, shift; };

template <class Float>
DEVICE Float two_sum(Float a, Float b, Float& low) {  // a + b; what rounding lost is added to low
  const Float sum = a + b, part = sum - a;
  low += (a - (sum - part)) + (b - part);
  return sum;
}

template <class Float>
DEVICE Float add_low(Float sum, Float low) {  // not finite: the sum overflowed or met inf or NaN, and stands for itself
  return low != Float(0) && low - low == Float(0) ? sum + low : sum;
}

template <class State>
DEVICE State load_state(const State* from) {  // written by another block: not through the cache of this one
  union { State state; u32 word[sizeof(State) / 4]; } all;
#pragma unroll
  for (int w = 0; w < int(sizeof(State) / 4); ++w) all.word[w] = __ldcg(reinterpret_cast<const u32*>(from) + w);
  return all.state;
}

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

DEVICE u32 take_ticket(u32* counters) {
  __shared__ u32 ticket;
  if (threadIdx.x == 0 && threadIdx.y == 0) ticket = atomicAdd(counters, 1u);
  __syncthreads();
  return ticket;
}

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

// Publishes the sums `all` of this piece, finds what precedes it, and publishes the prefix that follows: always joined
// piece by piece from the first one on, so that the result does not depend on how far back a prefix was found. The
// threads that `speak` hold the columns from `column` on; all threads of one `slot` get the same carry.
template <int Slots, class State, int N>
DEVICE void look_back(State (&carry)[N], State (&low)[N], const State (&all)[N], bool speaks, u32 slot, u32 column,
                      u32 width, u32 tiles, u32 ticket, u32* flags, State* states) {
  constexpr int Batch = N > 4 ? 2 : 4;
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
      for (at += tiles; at < ticket; at += Batch * tiles) {
        State next[Batch][N];
#pragma unroll
        for (int u = 0; u < Batch; ++u) {
          const u32 piece = at + u * tiles < ticket ? at + u * tiles : at;
#pragma unroll
          for (int k = 0; k < N; ++k) next[u][k] = load_state(sums + u64(piece) * width + k);
        }
#pragma unroll
        for (int u = 0; u < Batch; ++u) {
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

struct alignas(8) State0 {
  static constexpr bool symmetric = true;
  float s0;
  u32 unused0;
};
DEVICE State0 join(const State0& a, const State0& b) {
  State0 r = State0();
  const float j0_0 = a.s0 + b.s0;
  r.s0 = j0_0;
  return r;
}
DEVICE void accumulate(State0& s, State0& low, const State0& batch) {
  State0 r = join(s, batch);
  r.s0 = two_sum(s.s0, batch.s0, low.s0);
  s = r;
}
DEVICE State0 total(const State0& s, const State0& low) {
  State0 r = s;
  r.s0 = add_low(s.s0, low.s0);
  return r;
}

struct Arguments {
  const float* x0;
  float* y0;
  u8* workspace;
  u32* counters;
  u32 n0;
  u32 n1;
  i32 x0_s1;
  i32 y0_s1;
  Divisor d1;
};

extern "C" __global__ void __launch_bounds__(256, 2) kiln_scan_sum(const __grid_constant__ Arguments a) {
  const u32 ticket = take_ticket(a.counters);
  const u32 width = blockDim.x * 4u;
  const u32 tiles = u32((a.n0 + width - 1) / width);
  const u32 piece = ticket / tiles;
  const u32 tile = ticket % tiles;
  const u32 kept = a.n0;
  const u32 start = (tile * blockDim.x + threadIdx.x) * 4u;
  const bool inside = start < kept;
  const u32 i = inside ? start : 0;
  const u32 c0 = i;
  const float* const x0_column = a.x0 + (i32(c0));
  float* const y0_column = a.y0 + (i32(c0));
  const u32 last = a.n1;
  State0 carry0[4], low0[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    carry0[k] = State0{__uint_as_float(0x80000000u), 0}, low0[k] = State0();
  }
  const u32 row = (piece * blockDim.y + threadIdx.y) * 8u;
  float x0[8][4];
#pragma unroll
  for (int u = 0; u < 8; ++u) {
    const u32 at = row + u;
    const u32 c1 = at >= last ? last - 1 : at;
    read<4>(x0[u], x0_column + i32(c1) * a.x0_s1);
  }
  State0 s0[8][4], before0[4], all0[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    State0 run = State0{__uint_as_float(0x80000000u), 0};
#pragma unroll
    for (int u = 0; u < 8; ++u) {
      run = u > 0 ? join(run, State0{x0[u][k], 0}) : State0{x0[u][k], 0};
      s0[u][k] = run;
    }
    all0[k] = run, before0[k] = State0{__uint_as_float(0x80000000u), 0};
  }
  scan_rows<256>(before0, all0);
  look_back<32>(carry0, low0, all0, threadIdx.y == 0, threadIdx.x, threadIdx.x * 4u, width, tiles, ticket, a.counters + 2 + 0u * gridDim.x,
      reinterpret_cast<State0*>(a.workspace));
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    before0[k] = join(carry0[k], before0[k]);
  }
  float y0[8][4];
#pragma unroll
  for (int u = 0; u < 8; ++u) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const State0 r0 = join(before0[k], s0[u][k]);
      y0[u][k] = r0.s0;
    }
    if (inside && row + u < last) {
      const u32 c1 = row + u;
      write<4>(y0_column + i32(c1) * a.y0_s1, y0[u]);
    }
  }
  leave_zeros(a.counters, 2u + 1u * gridDim.x);
}
