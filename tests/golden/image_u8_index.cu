// y = u8(clip(gain * f32(x) * vignette(row, column)))
// schedule: n-d rows, 256 threads per block, vectors of 1

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

DEVICE u32 divide(u32 n, Divisor d) { return (__umulhi(n, d.multiplier) + n) >> d.shift; }

DEVICE float minimum_f32(float a, float b) {  // NaN propagates, -0 < +0
#if __CUDA_ARCH__ >= 800
  float y; asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y;
#else
  return a != a || b != b ? a + b : fminf(a, b);
#endif
}

DEVICE float maximum_f32(float a, float b) {  // NaN propagates, -0 < +0
#if __CUDA_ARCH__ >= 800
  float y; asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y;
#else
  return a != a || b != b ? a + b : fmaxf(a, b);
#endif
}

struct Arguments {
  const u8* x0;
  u8* y0;
  i64 x1_start;
  i64 x2_start;
  u32 n0;
  u32 n1;
  u32 n2;
  i32 x0_s0;
  i32 x0_s1;
  i32 y0_s0;
  i32 y0_s1;
  Divisor d1;
  Divisor d2;
  float s0;
};

extern "C" __global__ void __launch_bounds__(256, 4) kiln_general_minimum_maximum_mul_sub(const __grid_constant__ Arguments a) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  const u32 row = (blockIdx.z * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;
  if (i >= a.n2) return;
  const u32 q1 = divide(row, a.d1);
  const u32 c1 = row - q1 * a.n1;
  const u32 c0 = q1;
  if (c0 >= a.n0) return;
  const u8* const x0_row = a.x0 + (i32(c0) * a.x0_s0 + i32(c1) * a.x0_s1);
  const i64 x1_row = a.x1_start + i64(c0);
  const i64 x2_row = a.x2_start + i64(c1);
  u8* const y0_row = a.y0 + (i32(c0) * a.y0_s0 + i32(c1) * a.y0_s1);
  u8 x0[1];
  u8 y0[1];
  read<1>(x0, x0_row + i);
  const float v0 = float(x0[0]);
  const float v1 = a.s0 * v0;
  const float v2 = float(x1_row);
  const float v3 = float(x2_row);
  const float v4 = v3 * v3;
  const float v5 = fmaf(v2, v2, v4);
  const float v6 = __fmul_rn(v5, 0x1p-20f);
  const float v7 = 1.0f - v6;
  const float v8 = v1 * v7;
  const float v9 = maximum_f32(v8, 0.0f);
  const float v10 = minimum_f32(v9, 255.0f);
  const u8 v11 = u8(v10);
  y0[0] = v11;
  write<1>(y0_row + i, y0);
}
