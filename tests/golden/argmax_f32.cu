// argmax(x)
// schedule: rows, 512 threads per block, 512 per row, 8 vectors of 4 per step, blocks share a row, no partial step

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

template <class State, int N>
DEVICE State tree(State (&s)[N]) {
#pragma unroll
  for (int w = 1; w < N; w *= 2)
#pragma unroll
    for (int k = 0; k + w < N; k += 2 * w) s[k] = join(s[k], s[k + w]);
  return s[0];
}

template <int Lanes, class State>
DEVICE State join_lanes(State s) {  // over aligned groups of lanes; each gets the same result, joined in their order
#pragma unroll
  for (int mask = 1; mask < Lanes; mask *= 2) {
    const State other = shuffle(s, mask);
    if constexpr (State::symmetric) {  // join(a, b) is join(b, a) to the bit
      s = join(s, other);
    } else {
      const bool upper = threadIdx.x & mask;
      s = join(upper ? other : s, upper ? s : other);
    }
  }
  return s;
}

template <int Warps, bool Everywhere = true, class State>  // or in the first warp only
DEVICE State join_block(State s, State (&shared)[Warps]) {  // one barrier; `shared` is used once
  s = join_lanes<32>(s);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = s;
  __syncthreads();
  if (!Everywhere && threadIdx.x >= 32) return s;
  // All of them, or three or five at a time where their number is no power of two, or one for each lane.
  constexpr int At_once = Warps <= 8 ? Warps : Warps % 3 == 0 ? 3 : Warps % 5 == 0 ? 5 : 1;
  if constexpr (At_once == 1) {
    return join_lanes<Warps>(shared[threadIdx.x % Warps]);
  } else {
    State some[At_once];
#pragma unroll
    for (int w = 0; w < At_once; ++w) some[w] = shared[threadIdx.x % (Warps / At_once) * At_once + w];
    return join_lanes<Warps / At_once>(tree(some));
  }
}

template <class State>
DEVICE State load_state(const State* from) {  // written by another block: not through the cache of this one
  union { State state; u32 word[sizeof(State) / 4]; } all;
#pragma unroll
  for (int w = 0; w < int(sizeof(State) / 4); ++w) all.word[w] = __ldcg(reinterpret_cast<const u32*>(from) + w);
  return all.state;
}

template <int Warps, class State>  // all blocks along grid x, in their order; true in the block that arrives last
DEVICE bool join_blocks(State& s, const State& identity, State* partial, u32* counter, State (&shared)[Warps]) {
  __shared__ u32 arrived;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s;
    __threadfence();
    arrived = atomicInc(counter, gridDim.x - 1);  // zero again after the last one
  }
  __syncthreads();
  if (arrived != gridDim.x - 1) return false;
  __threadfence();
  s = identity;
  for (u32 first = threadIdx.x; first < gridDim.x; first += 128 * Warps) {
    State batch[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const u32 block = first + k * 32 * Warps;
      batch[k] = block < gridDim.x ? load_state(partial + block) : identity;
    }
    s = join(s, tree(batch));
  }
  s = join_block<Warps, false>(s, shared);
  return true;
}

struct alignas(8) State0 {
  static constexpr bool symmetric = false;
  float s0_0;
  u32 unused0;
  i64 s0_1;
};
DEVICE State0 join(const State0& a, const State0& b) {
  State0 r = State0();
  const bool j0_0 = a.s0_0 > b.s0_0;
  const bool j0_1 = a.s0_0 != a.s0_0;
  const bool j0_2 = b.s0_0 != b.s0_0;
  const bool j0_3 = !j0_2;
  const bool j0_4 = j0_1 && j0_3;
  const bool j0_5 = j0_0 || j0_4;
  const bool j0_6 = a.s0_0 == b.s0_0;
  const bool j0_7 = j0_1 && j0_2;
  const bool j0_8 = j0_6 || j0_7;
  const bool j0_9 = a.s0_1 < b.s0_1;
  const bool j0_10 = j0_8 && j0_9;
  const bool j0_11 = j0_5 || j0_10;
  const float j0_12 = j0_11 ? a.s0_0 : b.s0_0;
  const i64 j0_13 = j0_11 ? a.s0_1 : b.s0_1;
  r.s0_0 = j0_12;
  r.s0_1 = j0_13;
  return r;
}
DEVICE State0 shuffle(const State0& s, int mask) {
  State0 r = State0();
  r.s0_0 = __shfl_xor_sync(~0u, s.s0_0, mask);
  r.s0_1 = __shfl_xor_sync(~0u, s.s0_1, mask);
  return r;
}
DEVICE void accumulate(State0& s, State0&, const State0& batch) {
  const State0 r = join(s, batch);
  s = r;
}
DEVICE State0 total(const State0& s, const State0&) {
  return s;
}

struct Arguments {
  const float* x0;
  i64* y0;
  i64 x1_start;
  u8* workspace;
  u32* counters;
  u32 n0;
};

extern "C" __global__ void __launch_bounds__(512, 2) kiln_row_argmax(const __grid_constant__ Arguments a) {
  const u32 lane = threadIdx.x;
  __shared__ State0 shared0[16];
  const State0 identity0 = State0{__uint_as_float(0xff800000u), 0, 9223372036854775807ll};
  State0 s0 = identity0;
  State0 low0 = State0();
  {
    u32 first = (blockIdx.x * 16384u);
    for (; first + 16384u <= a.n0; first += (gridDim.x * 16384u)) {
      float x0[8][4];
#pragma unroll
      for (int u = 0; u < 8; ++u) {
        const u32 j = first + (u * 512u + lane) * 4u;
        read<4>(x0[u], a.x0 + j);
      }
      State0 t0[8];
#pragma unroll
      for (int u = 0; u < 8; ++u) {
        const u32 j = first + (u * 512u + lane) * 4u;
        State0 e[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          e[k] = State0{x0[u][k], 0, (a.x1_start + i64(j) + k)};
        }
        t0[u] = tree(e);
      }
      accumulate(s0, low0, tree(t0));
    }
  }
  s0 = total(s0, low0);
  s0 = join_block<16, false>(s0, shared0);
  if (!join_blocks<16>(s0, identity0, reinterpret_cast<State0*>(a.workspace), a.counters, shared0)) return;
  if (lane == 0) {
    *(a.y0) = s0.s0_1;
  }
}
