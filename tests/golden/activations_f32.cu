// sigmoid, silu, gelu and gelu_tanh of x
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

DEVICE float exp2_approximate(float x) {  // 2 ulp, results below 2^-126 are 0
#if __CUDA_ARCH__ >= 800
  float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y;
#else
  return exp2f(x);
#endif
}

DEVICE float one_plus_erf(float x) {  // within 2.4e-7; erfc(|x|) = 2^(-|x| p(|x|))
  const float a = fabsf(x);
  float p = 0x1.746594p-20f;
  p = fmaf(p, a, -0x1.bd835ap-16f);
  p = fmaf(p, a, 0x1.ccb96ap-13f);
  p = fmaf(p, a, -0x1.086756p-10f);
  p = fmaf(p, a, 0x1.47cacp-9f);
  p = fmaf(p, a, -0x1.20f278p-12f);
  p = fmaf(p, a, -0x1.c4b158p-6f);
  p = fmaf(p, a, 0x1.2faeacp-3f);
  p = fmaf(p, a, 0x1.d63e94p-1f);
  p = fmaf(p, a, 0x1.a0be86p+0f);
  const float e = exp2_approximate(-a * p);
  return x < 0.0f ? e : 2.0f - e;
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

DEVICE float half_plus_half_tanh(float x) {  // within 2.4e-7; 1 / (1 + exp(-2x))
  return reciprocal_approximate(1.0f + exp2_approximate(x * -0x1.715476p+1f));
}

struct Arguments {
  const float* x0;
  float* y0;
  float* y1;
  float* y2;
  float* y3;
  u32 n0;
};

extern "C" __global__ void __launch_bounds__(256, 4) kiln_flat_mul_tanh_add_erf(const __grid_constant__ Arguments a) {
  const u32 i = (blockIdx.x * 256u + threadIdx.x) * 4u;
  if (i >= a.n0) return;
  float x0[4];
  float y0[4];
  float y1[4];
  float y2[4];
  float y3[4];
  read<4>(x0, a.x0 + i);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const bool v0 = x0[k] >= 0.0f;
    const float v1 = fabsf(x0[k]);
    const float v2 = -v1;
    const float v3 = expf(v2);
    const float v4 = v0 ? 1.0f : v3;
    const float v5 = 1.0f + v3;
    const float v6 = quotient_2ulp(v4, v5);
    const float v7 = x0[k] * v3;
    const float v8 = v0 ? x0[k] : v7;
    const float v9 = quotient_2ulp(v8, v5);
    const float v10 = x0[k] * 0.5f;
    const float v11 = x0[k] * 0x1.6a09e6p-1f;
    const float v12 = one_plus_erf(v11);
    const float v13 = v10 * v12;
    const float v14 = x0[k] * x0[k];
    const float v15 = __fmul_rn(v14, 0x1.2444f2p-5f);
    const float v16 = v15 + 0x1.988454p-1f;
    const float v17 = x0[k] * v16;
    const float v18 = half_plus_half_tanh(v17);
    const float v19 = x0[k] * v18;
    y0[k] = v6;
    y1[k] = v9;
    y2[k] = v13;
    y3[k] = v19;
  }
  write<4>(a.y0 + i, y0);
  write<4>(a.y1 + i, y1);
  write<4>(a.y2 + i, y2);
  write<4>(a.y3 + i, y3);
}
