// s = x + y; d = f16(x - y)
// schedule: flat, 256 threads per block, vectors of 4, no partial vector

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

DEVICE u16 f32_to_f16(float x) { u16 y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x)); return y; }

DEVICE u32 pair_f16(float low, float high) {  // both rounded to nearest even, packed
#if __CUDA_ARCH__ >= 800
  u32 y; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low)); return y;
#else
  return f32_to_f16(low) | u32(f32_to_f16(high)) << 16;
#endif
}

template <int N>
DEVICE void round_f16(u16 (&to)[N], const float (&from)[N]) {
#pragma unroll
  for (int k = 0; k + 1 < N; k += 2) {
    const u32 pair = pair_f16(from[k], from[k + 1]);
    to[k] = u16(pair), to[k + 1] = u16(pair >> 16);
  }
  if (N == 1) to[0] = f32_to_f16(from[0]);
}

struct Arguments {
  const float* x0;
  const float* x1;
  float* y0;
  u16* y1;
  u32 n0;
};

extern "C" __global__ void __launch_bounds__(256, 4) kiln_flat_sub_add(const __grid_constant__ Arguments a) {
  const u32 i = (blockIdx.x * 256u + threadIdx.x) * 4u;
  if (i >= a.n0) return;
  float x0[4];
  float x1[4];
  float y0[4];
  u16 y1[4];
  float y1_f32[4];
  read<4>(x0, a.x0 + i);
  read<4>(x1, a.x1 + i);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float v0 = x0[k] + x1[k];
    const float v1 = x0[k] - x1[k];
    y0[k] = v0;
    y1_f32[k] = v1;
  }
  round_f16(y1, y1_f32);
  write<4>(a.y0 + i, y0);
  write<4>(a.y1 + i, y1);
}
