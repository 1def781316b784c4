// smallest |x| and how often it occurs
// schedule: rows, 256 threads per block, 32 per row, 8 vectors of 4 held, no partial vector

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

struct alignas(8) State0 {
  static constexpr bool symmetric = false;
  float s0_0;
  i32 s0_1;
};
DEVICE State0 join(const State0& a, const State0& b) {
  State0 r = State0();
  const float j0_0 = fminf(a.s0_0, b.s0_0);
  const bool j0_1 = a.s0_0 == j0_0;
  const i32 j0_2 = j0_1 ? a.s0_1 : 0;
  const bool j0_3 = b.s0_0 == j0_0;
  const i32 j0_4 = j0_3 ? b.s0_1 : 0;
  const i32 j0_5 = i32(u32(j0_2) + u32(j0_4));
  r.s0_0 = j0_0;
  r.s0_1 = j0_5;
  return r;
}
DEVICE State0 shuffle(const State0& s, int mask) {
  State0 r = State0();
  r.s0_0 = __shfl_xor_sync(~0u, s.s0_0, mask);
  r.s0_1 = __shfl_xor_sync(~0u, s.s0_1, mask);
  return r;
}

struct Arguments {
  const float* x0;
  float* y0;
  i32* y1;
  u8* workspace;
  u32* counters;
  u32 n0;
  u32 n1;
  i32 x0_s0;
  Divisor d1;
};

extern "C" __global__ void __launch_bounds__(256, 4) kiln_row_combine_abs(const __grid_constant__ Arguments a) {
  const u32 lane = threadIdx.x % 32u;
  float x0[8][4];
  const u32 row = blockIdx.x * 8u + threadIdx.x / 32u;
  const bool inside = row < a.n0;
  const u32 c0 = row < a.n0 ? row : a.n0 - 1;
  const float* const x0_row = a.x0 + (i32(c0) * a.x0_s0);
  float* const y0_row = a.y0 + (i32(c0));
  i32* const y1_row = a.y1 + (i32(c0));
#pragma unroll
  for (int u = 0; u < 8; ++u) {
    const u32 j = (u * 32u + lane) * 4u;
    read_if<4>(x0[u], x0_row + j, j < a.n1);
  }
  const State0 identity0 = State0{__uint_as_float(0x7f800000u), 0};
  State0 t0[8];
#pragma unroll
  for (int u = 0; u < 8; ++u) {
    const u32 j = (u * 32u + lane) * 4u;
    State0 e[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float v0 = fabsf(x0[u][k]);
      e[k] = State0{v0, 1};
    }
    t0[u] = tree(e);
    if (j >= a.n1) t0[u] = identity0;
  }
  State0 s0 = tree(t0);
  s0 = join_lanes<32>(s0);
  if (lane == 0 && inside) {
    *(y0_row) = s0.s0_0;
    *(y1_row) = s0.s0_1;
  }
}
