// sum of rows
// schedule: rows, 512 threads per block, 512 per row, 8 vectors of 4 held, no partial step

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

struct Divisor { u32 multiplier, shift; };

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
DEVICE State0 shuffle(const State0& s, int mask) {
  State0 r = State0();
  r.s0 = __shfl_xor_sync(~0u, s.s0, mask);
  return r;
}

struct Arguments {
  const float* x0;
  float* y0;
  u8* workspace;
  u32* counters;
  u32 n0;
  u32 n1;
  i32 x0_s0;
  Divisor d1;
};

extern "C" __global__ void __launch_bounds__(512, 2) kiln_row_sum(const __grid_constant__ Arguments a) {
  const u32 lane = threadIdx.x;
  __shared__ State0 shared0[16];
  float x0[8][4];
  const u32 c0 = blockIdx.x;
  const float* const x0_row = a.x0 + (i32(c0) * a.x0_s0);
  float* const y0_row = a.y0 + (i32(c0));
#pragma unroll
  for (int u = 0; u < 8; ++u) {
    const u32 j = (u * 512u + lane) * 4u;
    read<4>(x0[u], x0_row + j);
  }
  State0 t0[8];
#pragma unroll
  for (int u = 0; u < 8; ++u) {
    State0 e[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      e[k] = State0{x0[u][k], 0};
    }
    t0[u] = tree(e);
  }
  State0 s0 = tree(t0);
  s0 = join_block<16, false>(s0, shared0);
  if (lane == 0) {
    *(y0_row) = s0.s0;
  }
}
