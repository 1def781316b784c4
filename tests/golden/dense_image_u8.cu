// y = u8(clip(f32(x) * gain(channel) - (row + column)))
// schedule: dense, 256 threads per block, vectors of 16, no partial vector

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
  const float* x1;
  u8* y0;
  i64 x2_start;
  i64 x3_start;
  u32 n0;
  u32 n1;
  u32 n2;
  i32 x0_s0;
  i32 x0_s1;
  i32 y0_s0;
  i32 y0_s1;
  Divisor d1;
  Divisor d2;
};

extern "C" __global__ void __launch_bounds__(256, 4) kiln_dense_minimum_maximum_sub_add(const __grid_constant__ Arguments a) {
  const u32 i = (blockIdx.x * 256u + threadIdx.x) * 16u;
  const u32 n = a.n0 * a.n1 * a.n2;
  if (i >= n) return;
  const u32 q2 = divide(i, a.d2);
  u32 c2 = i - q2 * a.n2;
  const u32 q1 = divide(q2, a.d1);
  u32 c1 = q2 - q1 * a.n1;
  u32 c0 = q1;
  u8 x0[16];
  u8 y0[16];
  read<16>(x0, a.x0 + i);
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    const float x1 = a.x1[i32(c2)];
    const i64 x2 = a.x2_start + i64(c0);
    const i64 x3 = a.x3_start + i64(c1);
    const float v0 = float(x0[k]);
    const float v1 = v0 * x1;
    const float v2 = float(x2);
    const float v3 = float(x3);
    const float v4 = v2 + v3;
    const float v5 = v1 - v4;
    const float v6 = maximum_f32(v5, 0.0f);
    const float v7 = minimum_f32(v6, 255.0f);
    const u8 v8 = u8(v7);
    y0[k] = v8;
    if (++c2 == a.n2) { c2 = 0; if (++c1 == a.n1) { c1 = 0; ++c0; } }
  }
  write<16>(a.y0 + i, y0);
}
