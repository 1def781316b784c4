// call, put = Black-Scholes(spot, strike, years)
// schedule: flat, 256 threads per block, vectors of 2, no partial vector

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

// erfc(x) for x >= 0 within 5 ulp: t P(t) exp(-x^2), t = 1 / (1 + 3/8 x). A term from constant memory is one instruction,
// a literal in the code is two.
static __constant__ double erfc_terms[23] = {
    0x1.5c1190e97b769p-9,  -0x1.df9beff9c2eacp-8, 0x1.17e1ec60f5788p-9,  0x1.82220ec031f3fp-7,  -0x1.73e19f2eecc59p-7,
    -0x1.156e06fc45bf3p-7, 0x1.343741ddc3c01p-6,  0x1.6ce10a7906dbdp-12, -0x1.7ffd52035ea82p-6, 0x1.3ea71ae13054cp-7,
    0x1.c23ba84684699p-6,  -0x1.5e25d51b86f91p-6, -0x1.2674bca80506fp-5, 0x1.23e08d771e571p-5,  0x1.f7f4daf5c6151p-5,
    -0x1.87d6063690bf1p-5, -0x1.224d371dea1edp-3, -0x1.363a27046a3c7p-7, 0x1.55ce7465fcd46p-2,  0x1.4fa5dc073f566p-1,
    0x1.82a03a21e171ap-1,  0x1.4063321a06a77p-1,  0x1.97b3643d2dbacp-2};
static __constant__ double erfc_exp_terms[12] = {
    0x1.ad61100b203cbp-26, 0x1.28b732632473dp-22, 0x1.71df4fe85b7a4p-19, 0x1.a0198e569f470p-16,
    0x1.a01a0107879c6p-13, 0x1.6c16c1892e504p-10, 0x1.11111111337d8p-7,  0x1.555555554eb62p-5,
    0x1.555555555548fp-3,  0x1.0000000000012p-1,  1.0,                   1.0};
DEVICE double erfc_of_magnitude(double x) {
  const double a = x > 27.3 ? 27.3 : x, d = fma(a, 0.375, 1.0), lost = fma(a, 0.375, 1.0 - d);
#if __CUDA_ARCH__ >= 800
  double guess; asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(guess) : "d"(d));
#else
  double guess = 1.0 / d;
#endif
  guess = fma(fma(-d, guess, 1.0), guess, guess);
  const double t = fma(fma(-lost, guess, fma(-d, guess, 1.0)), guess, guess), u = t - 0.5;
  double p = erfc_terms[0], e = erfc_exp_terms[0];
#pragma unroll
  for (int i = 1; i < 23; ++i) p = fma(p, u, erfc_terms[i]);
  const double s = __dmul_rn(a, a), shifted = fma(s, -0x1.71547652b82fep+0, 0x1.8p+52);  // exp(-s) = 2^n exp(r)
  const double n = shifted - 0x1.8p+52;
  const double r = fma(n, -0x1.abc9e3b39803fp-56, fma(n, -0x1.62e42fefa39efp-1, -s)) - fma(a, a, -s);
#pragma unroll
  for (int i = 1; i < 12; ++i) e = fma(e, r, erfc_exp_terms[i]);
  const int power = __double2loint(shifted), half = power >> 1;  // in two steps: results may be subnormal
  return p * t * e * __hiloint2double((1023 + half) << 20, 0) * __hiloint2double((1023 + power - half) << 20, 0);
}

struct Arguments {
  const double* x0;
  const double* x1;
  const double* x2;
  double* y0;
  double* y1;
  u32 n0;
};

extern "C" __global__ void __launch_bounds__(256, 2) kiln_flat_sub_mul_where_lt(const __grid_constant__ Arguments a) {
  const u32 i = (blockIdx.x * 256u + threadIdx.x) * 2u;
  if (i >= a.n0) return;
  double x0[2];
  double x1[2];
  double x2[2];
  double y0[2];
  double y1[2];
  read<2>(x0, a.x0 + i);
  read<2>(x1, a.x1 + i);
  read<2>(x2, a.x2 + i);
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const double v0 = x0[k] / x1[k];
    const double v1 = log(v0);
    const double v2 = __dmul_rn(0x1.0a3d70a3d70a4p-4, x2[k]);
    const double v3 = v1 + v2;
    const double v4 = sqrt(x2[k]);
    const double v5 = __dmul_rn(0x1.3333333333333p-2, v4);
    const double v6 = v3 / v5;
    const double v7 = __dmul_rn(v6, (-0x1.6a09e667f3bcdp-1));
    const bool v8 = v7 < 0.0;
    const double v9 = fabs(v7);
    const double v10 = erfc_of_magnitude(v9);
    const double v11 = 2.0 - v10;
    const double v12 = v8 ? v11 : v10;
    const double v13 = 0.5 * v12;
    const double v14 = x0[k] * v13;
    const double v15 = (-0x1.47ae147ae147bp-6) * x2[k];
    const double v16 = exp(v15);
    const double v17 = x1[k] * v16;
    const double v18 = v6 - v5;
    const double v19 = __dmul_rn(v18, (-0x1.6a09e667f3bcdp-1));
    const bool v20 = v19 < 0.0;
    const double v21 = fabs(v19);
    const double v22 = erfc_of_magnitude(v21);
    const double v23 = 2.0 - v22;
    const double v24 = v20 ? v23 : v22;
    const double v25 = 0.5 * v24;
    const double v26 = v17 * v25;
    const double v27 = v14 - v26;
    const double v28 = -v19;
    const bool v29 = v28 < 0.0;
    const double v30 = v29 ? v23 : v22;
    const double v31 = 0.5 * v30;
    const double v32 = v17 * v31;
    const double v33 = -v7;
    const bool v34 = v33 < 0.0;
    const double v35 = v34 ? v11 : v10;
    const double v36 = 0.5 * v35;
    const double v37 = x0[k] * v36;
    const double v38 = v32 - v37;
    y0[k] = v27;
    y1[k] = v38;
  }
  write<2>(a.y0 + i, y0);
  write<2>(a.y1 + i, y1);
}
