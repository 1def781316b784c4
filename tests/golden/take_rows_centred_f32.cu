// x - mean(x), sum(x * x), x = take(table, ids, 0)
// schedule: rows, 128 threads per block, 128 per row, 2 vectors of 4 held, no partial vector

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

template <int Width, int N, class T>
DEVICE void read_if(T (&to)[N], const T* from, bool inside) {  // zeros where it is not
  union Piece { typename Word<Width * sizeof(T)>::type word; T at[Width]; };
#pragma unroll
  for (int n = 0; n < N; n += Width) {
    Piece piece;
    piece.word = typename Word<Width * sizeof(T)>::type();
    if (inside) piece.word = *reinterpret_cast<const typename Word<Width * sizeof(T)>::type*>(from + n);
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

struct alignas(8) State0 {
  static constexpr bool symmetric = true;
  float s0;
  float s1;
};
DEVICE State0 join(const State0& a, const State0& b) {
  State0 r = State0();
  const float j0_0 = a.s0 + b.s0;
  r.s0 = j0_0;
  const float j1_0 = a.s1 + b.s1;
  r.s1 = j1_0;
  return r;
}
DEVICE State0 shuffle(const State0& s, int mask) {
  State0 r = State0();
  r.s0 = __shfl_xor_sync(~0u, s.s0, mask);
  r.s1 = __shfl_xor_sync(~0u, s.s1, mask);
  return r;
}

struct Arguments {
  const i32* x0;
  const float* x2;
  float* y0;
  float* y1;
  i64 x1_start;
  u8* workspace;
  u32* counters;
  u32 n0;
  u32 n1;
  i32 y0_s0;
  Divisor d1;
  i64 s0;
  i64 s1;
  i64 s2;
  float s3;
};

extern "C" __global__ void __launch_bounds__(128, 8) kiln_row_sum_mul_sub_take(const __grid_constant__ Arguments a) {
  const u32 lane = threadIdx.x;
  __shared__ State0 shared0[4];
  const u32 c0 = blockIdx.x;
  const i32* const x0_row = a.x0 + (i32(c0));
  float* const y0_row = a.y0 + (i32(c0) * a.y0_s0);
  float* const y1_row = a.y1 + (i32(c0));
  const i32 x0 = *x0_row;
  const i64 v0 = i64(x0);
  const bool v1 = v0 < 0ll;
  const i64 v2 = i64(u64(v0) + u64(a.s0));
  const i64 v3 = v1 ? v2 : v0;
  const bool v4 = v3 >= 0ll;
  const bool v5 = v3 < a.s0;
  const bool v6 = v4 && v5;
  const i64 v7 = i64(u64(v3) * u64(a.s1));
  const i64 v8 = v6 ? v7 : (-1ll);
  const State0 identity0 = State0{__uint_as_float(0x80000000u), __uint_as_float(0x80000000u)};
  State0 t0[2];
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    const u32 j = (u * 128u + lane) * 4u;
    const bool g0_exists = v8 >= 0;
    float g0[4];
    read_if<4>(g0, a.x2 + ((g0_exists ? v8 : 0) + (a.x1_start + i64(j))), j < a.n1);
    State0 e[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float v12 = (g0_exists ? g0[k] : __uint_as_float(0x7fc00000u)) * (g0_exists ? g0[k] : __uint_as_float(0x7fc00000u));
      e[k] = State0{(g0_exists ? g0[k] : __uint_as_float(0x7fc00000u)), v12};
    }
    t0[u] = tree(e);
    if (j >= a.n1) t0[u] = identity0;
  }
  State0 s0 = tree(t0);
  s0 = join_block<4>(s0, shared0);
  const float v10 = s0.s0 * a.s3;
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    const u32 j = (u * 128u + lane) * 4u;
    const bool g0_exists = v8 >= 0;
    float g0[4];
    read_if<4>(g0, a.x2 + ((g0_exists ? v8 : 0) + (a.x1_start + i64(j))), j < a.n1);
    float y0[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float v11 = (g0_exists ? g0[k] : __uint_as_float(0x7fc00000u)) - v10;
      y0[k] = v11;
    }
    if (j < a.n1) write<4>(y0_row + j, y0);
  }
  if (lane == 0) {
    *(y1_row) = s0.s1;
  }
}
