// e / sum(e), e = exp(x - max(x))
// schedule: rows, 512 threads per block, 512 per row, 8 vectors of 8 held, no partial step

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

DEVICE u16 f32_to_bf16(float x) {
#if __CUDA_ARCH__ >= 800
  u16 y; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x)); return y;
#else
  const u32 w = __float_as_uint(x);
  return (w & 0x7fffffffu) > 0x7f800000u ? u16(0x7fff) : u16((w + 0x7fffu + (w >> 16 & 1u)) >> 16);
#endif
}

DEVICE u32 pair_bf16(float low, float high) {  // both rounded to nearest even, packed
#if __CUDA_ARCH__ >= 800
  u32 y; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low)); return y;
#else
  return f32_to_bf16(low) | u32(f32_to_bf16(high)) << 16;
#endif
}

template <int N>
DEVICE void round_bf16(u16 (&to)[N], const float (&from)[N]) {
#pragma unroll
  for (int k = 0; k + 1 < N; k += 2) {
    const u32 pair = pair_bf16(from[k], from[k + 1]);
    to[k] = u16(pair), to[k + 1] = u16(pair >> 16);
  }
  if (N == 1) to[0] = f32_to_bf16(from[0]);
}

DEVICE float exp2_approximate(float x) {  // 2 ulp, results below 2^-126 are 0
#if __CUDA_ARCH__ >= 800
  float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y;
#else
  return exp2f(x);
#endif
}

DEVICE float maximum_f32(float a, float b) {  // NaN propagates, -0 < +0
#if __CUDA_ARCH__ >= 800
  float y; asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y;
#else
  return a != a || b != b ? a + b : fmaxf(a, b);
#endif
}

template <int N>  // half k; `one` is 1, but where the compiler cannot know it, the value is not kept from an earlier use
DEVICE float bf16_of(const u32 (&words)[N], int k, u32 one) {
  return __uint_as_float(k % 2 ? words[k / 2] & (0xfffeffffu + one) : words[k / 2] * (65535u + one));
}

DEVICE u32 maximum_bf16x2(u32 a, u32 b) {  // of both halves; NaN propagates, -0 < +0
#if __CUDA_ARCH__ >= 800
  u32 y; asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b)); return y;
#else
  const float low = maximum_f32(__uint_as_float(a << 16), __uint_as_float(b << 16));
  const float high = maximum_f32(__uint_as_float(a & 0xffff0000u), __uint_as_float(b & 0xffff0000u));
  return __float_as_uint(low) >> 16 | (__float_as_uint(high) & 0xffff0000u);
#endif
}

template <int N>
DEVICE float maximum_of_bf16(const u32 (&words)[N]) {
  u32 m[1] = {words[0]};
#pragma unroll
  for (int k = 1; k < N; ++k) m[0] = maximum_bf16x2(m[0], words[k]);
  return maximum_f32(bf16_of(m, 0, 1u), bf16_of(m, 1, 1u));
}

struct Ratio { float divisor, reciprocal; bool plain; };
DEVICE Ratio ratio(float divisor) {
  return {divisor, __frcp_rn(divisor), divisor >= 0x1p-60f && divisor <= 0x1p+60f};
}

DEVICE float exp_below_scaled(float x) {  // 2^8 exp(x), x <= 0 or NaN: 0 only where exp(x) rounds to 0 in bf16
  const float y = maximum_f32(x, -105.0f), t = fmaf(y, 0x1.715476p+0f, 8.0f), e = exp2_approximate(t);
  return fmaf(e, fmaf(t - 8.0f, -0x1.62e43p-1f, y), e);  // loses at most |x| / 2^24, as x - max may
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
  u32 unused0;
};
DEVICE State0 join(const State0& a, const State0& b) {
  State0 r = State0();
  const float j0_0 = maximum_f32(a.s0, b.s0);
  r.s0 = j0_0;
  return r;
}
DEVICE State0 shuffle(const State0& s, int mask) {
  State0 r = State0();
  r.s0 = __shfl_xor_sync(~0u, s.s0, mask);
  return r;
}

struct alignas(8) State1 {
  static constexpr bool symmetric = true;
  float s0;
  u32 unused0;
};
DEVICE State1 join(const State1& a, const State1& b) {
  State1 r = State1();
  const float j0_0 = a.s0 + b.s0;
  r.s0 = j0_0;
  return r;
}
DEVICE State1 shuffle(const State1& s, int mask) {
  State1 r = State1();
  r.s0 = __shfl_xor_sync(~0u, s.s0, mask);
  return r;
}

struct Arguments {
  const u16* x0;
  u16* y0;
  u8* workspace;
  u32* counters;
  u32 n0;
  u32 n1;
  i32 x0_s0;
  i32 y0_s0;
  Divisor d1;
};

extern "C" __global__ void __launch_bounds__(512, 2) kiln_row_div_sum_exp_sub(const __grid_constant__ Arguments a) {
  const u32 lane = threadIdx.x;
  __shared__ State0 shared0[16];
  __shared__ State1 shared1[16];
  u32 x0[8][4];
  const u32 c0 = blockIdx.x;
  const u16* const x0_row = a.x0 + (i32(c0) * a.x0_s0);
  u16* const y0_row = a.y0 + (i32(c0) * a.y0_s0);
#pragma unroll
  for (int u = 0; u < 8; ++u) {
    const u32 j = (u * 512u + lane) * 8u;
    read<4>(x0[u], reinterpret_cast<const u32*>(x0_row + j));
  }
  State0 t0[8];
#pragma unroll
  for (int u = 0; u < 8; ++u) {
    t0[u] = State0{maximum_of_bf16(x0[u]), 0};
  }
  State0 s0 = tree(t0);
  s0 = join_block<16>(s0, shared0);
  State1 t1[8];
#pragma unroll
  for (int u = 0; u < 8; ++u) {
    State1 e[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const float v0 = bf16_of(x0[u], k, gridDim.y);
      const float v1 = v0 - s0.s0;
      const float v2 = exp2_approximate(v1 * 0x1.715476p+0f);
      e[k] = State1{v2, 0};
    }
    t1[u] = tree(e);
  }
  State1 s1 = tree(t1);
  s1 = join_block<16>(s1, shared1);
  const Ratio by0 = ratio(s1.s0);
#pragma unroll
  for (int u = 0; u < 8; ++u) {
    const u32 j = (u * 512u + lane) * 8u;
    u16 y0[8];
    float y0_f32[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const float v0 = bf16_of(x0[u], k, gridDim.z);
      const float v1 = v0 - s0.s0;
      const float v2 = exp_below_scaled(v1);
      const float v3 = v2 * (by0.reciprocal * 0x1p-8f);
      y0_f32[k] = v3;
    }
    round_bf16(y0, y0_f32);
    write<8>(y0_row + j, y0);
  }
}
