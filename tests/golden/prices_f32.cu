// call, put = Black-Scholes(spot, strike, years)
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

DEVICE float reciprocal_approximate(float x) {  // 1 ulp
#if __CUDA_ARCH__ >= 800
  float y; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y;
#else
  return __frcp_rn(x);
#endif
}

DEVICE float minimum_f32(float a, float b) {  // NaN propagates, -0 < +0
#if __CUDA_ARCH__ >= 800
  float y; asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y;
#else
  return a != a || b != b ? a + b : fminf(a, b);
#endif
}

DEVICE float erfc_of_magnitude(float x) {  // erfc(x) for x >= 0 within 6 ulp: t P(t) exp(-x^2), t = 1 / (1 + 7/8 x)
  const float a = minimum_f32(x, 10.1f);
  const float d = fmaf(a, 0.875f, 1.0f), guess = reciprocal_approximate(d);
  const float t = fmaf(fmaf(-d, guess, 1.0f), guess, guess), u = t - 0.625f;
  float p = 0x1.2c5c26p-2f;
  p = fmaf(p, u, -0x1.6f2b7ap-8f);
  p = fmaf(p, u, -0x1.d107f2p-3f);
  p = fmaf(p, u, 0x1.778c32p-3f);
  p = fmaf(p, u, -0x1.ab3c4cp-5f);
  p = fmaf(p, u, -0x1.0d8e94p-3f);
  p = fmaf(p, u, 0x1.fe9dccp-3f);
  p = fmaf(p, u, -0x1.fb0708p-4f);
  p = fmaf(p, u, -0x1.19665cp-2f);
  p = fmaf(p, u, 0x1.0462acp-1f);
  p = fmaf(p, u, 0x1.b37912p-1f);
  p = __fmul_rn(p, t);
  const float s = __fmul_rn(a, a), h = __fmul_rn(s, -0x1.715476p+0f);  // exp(-s) = 2^h exp(what the roundings lost)
  float lost = fmaf(s, -0x1.715476p+0f, -h);
  lost = fmaf(s, -0x1.4ae0cp-26f, lost);
  lost = fmaf(lost, 0x1.62e43p-1f, -fmaf(a, a, -s));
  return __fmul_rn(fmaf(p, lost, p), exp2f(h));
}

struct Arguments {
  const float* x0;
  const float* x1;
  const float* x2;
  float* y0;
  float* y1;
  u32 n0;
};

extern "C" __global__ void __launch_bounds__(256, 4) kiln_flat_sub_mul_where_lt(const __grid_constant__ Arguments a) {
  const u32 i = (blockIdx.x * 256u + threadIdx.x) * 4u;
  if (i >= a.n0) return;
  float x0[4];
  float x1[4];
  float x2[4];
  float y0[4];
  float y1[4];
  read<4>(x0, a.x0 + i);
  read<4>(x1, a.x1 + i);
  read<4>(x2, a.x2 + i);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float v0 = x0[k] / x1[k];
    const float v1 = logf(v0);
    const float v2 = __fmul_rn(0x1.0a3d7p-4f, x2[k]);
    const float v3 = v1 + v2;
    const float v4 = sqrtf(x2[k]);
    const float v5 = __fmul_rn(0x1.333334p-2f, v4);
    const float v6 = v3 / v5;
    const float v7 = __fmul_rn(v6, (-0x1.6a09e6p-1f));
    const bool v8 = v7 < 0.0f;
    const float v9 = fabsf(v7);
    const float v10 = erfc_of_magnitude(v9);
    const float v11 = 2.0f - v10;
    const float v12 = v8 ? v11 : v10;
    const float v13 = 0.5f * v12;
    const float v14 = x0[k] * v13;
    const float v15 = (-0x1.47ae14p-6f) * x2[k];
    const float v16 = expf(v15);
    const float v17 = x1[k] * v16;
    const float v18 = v6 - v5;
    const float v19 = __fmul_rn(v18, (-0x1.6a09e6p-1f));
    const bool v20 = v19 < 0.0f;
    const float v21 = fabsf(v19);
    const float v22 = erfc_of_magnitude(v21);
    const float v23 = 2.0f - v22;
    const float v24 = v20 ? v23 : v22;
    const float v25 = 0.5f * v24;
    const float v26 = v17 * v25;
    const float v27 = v14 - v26;
    const float v28 = -v19;
    const bool v29 = v28 < 0.0f;
    const float v30 = v29 ? v23 : v22;
    const float v31 = 0.5f * v30;
    const float v32 = v17 * v31;
    const float v33 = -v7;
    const bool v34 = v33 < 0.0f;
    const float v35 = v34 ? v11 : v10;
    const float v36 = 0.5f * v35;
    const float v37 = x0[k] * v36;
    const float v38 = v32 - v37;
    y0[k] = v27;
    y1[k] = v38;
  }
  write<4>(a.y0 + i, y0);
  write<4>(a.y1 + i, y1);
}
