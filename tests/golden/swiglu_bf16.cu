// y = silu(gate) * up
// schedule: flat, 256 threads per block, vectors of 8, no partial vector

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

DEVICE float bf16_to_f32(u16 x) { return __uint_as_float(u32(x) << 16); }

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

DEVICE float reciprocal_approximate(float x) {  // 1 ulp
#if __CUDA_ARCH__ >= 800
  float y; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y;
#else
  return __frcp_rn(x);
#endif
}

DEVICE float quotient_2ulp(float a, float b) {  // b in [1, 2]
  const float r = reciprocal_approximate(b);
  return __fmul_rn(a, fmaf(fmaf(-b, r, 1.0f), r, r));
}

struct Arguments {
  const u16* x0;
  const u16* x1;
  u16* y0;
  u32 n0;
};

extern "C" __global__ void __launch_bounds__(256, 4) kiln_flat_mul_div_add_where(const __grid_constant__ Arguments a) {
  const u32 i = (blockIdx.x * 256u + threadIdx.x) * 8u;
  if (i >= a.n0) return;
  u16 x0[8];
  u16 x1[8];
  u16 y0[8];
  float y0_f32[8];
  read<8>(x0, a.x0 + i);
  read<8>(x1, a.x1 + i);
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const float v0 = bf16_to_f32(x0[k]);
    const bool v1 = v0 >= 0.0f;
    const float v2 = fabsf(v0);
    const float v3 = -v2;
    const float v4 = expf(v3);
    const float v5 = v0 * v4;
    const float v6 = v1 ? v0 : v5;
    const float v7 = 1.0f + v4;
    const float v8 = quotient_2ulp(v6, v7);
    const float v9 = bf16_to_f32(x1[k]);
    const float v10 = v8 * v9;
    y0_f32[k] = v10;
  }
  round_bf16(y0, y0_f32);
  write<8>(a.y0 + i, y0);
}
