// codegen/emit/cuda_prelude.cpp -- the device functions that generated kernels may use; only those used are printed.
#include "codegen/emit/cuda_prelude.h"

#include <algorithm>
#include <array>

#include "codegen/emit/cuda_prelude_table.h"
#include "support/check.h"

namespace kiln::codegen::cuda {
namespace {

constexpr std::string_view types = R"(typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
#define DEVICE static __device__ __forceinline__
)";

// Inline PTX appears where C++ has no operator; every function also compiles for sm_75.
constexpr std::array<Snippet, 36> table = {{
    {"Complex", "", R"(
template <class Part, class Pair> struct Complex {  // a complex number aligned like its parts only
  Part x, y;
  Complex() = default;
  __device__ Complex(Pair z) : x(z.x), y(z.y) {}
  __device__ operator Pair() const { Pair z; z.x = x, z.y = y; return z; }
};
)"},
    {"Word", "", R"(
template <int Bytes> struct Word;  // the type that moves so many bytes in one access
template <> struct Word<1> { typedef u8 type; };
template <> struct Word<2> { typedef u16 type; };
template <> struct Word<4> { typedef u32 type; };
template <> struct Word<8> { typedef uint2 type; };
template <> struct Word<16> { typedef uint4 type; };
)"},
    {"read", "Word", R"(
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
)"},
    {"write", "Word", R"(
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
)"},
    {"fetch", "Word", R"(
template <int Width, class T>  // Width neighbours in one access
DEVICE void fetch(T* to, const T* from) {
  union Piece { typename Word<Width * sizeof(T)>::type word; T at[Width]; };
  Piece piece;
  piece.word = *reinterpret_cast<const typename Word<Width * sizeof(T)>::type*>(from);
#pragma unroll
  for (int k = 0; k < Width; ++k) to[k] = piece.at[k];
}
)"},
    {"put", "Word", R"(
template <int Width, class T>
DEVICE void put(T* to, const T* from) {
  union Piece { typename Word<Width * sizeof(T)>::type word; T at[Width]; };
  Piece piece;
#pragma unroll
  for (int k = 0; k < Width; ++k) piece.at[k] = from[k];
  *reinterpret_cast<typename Word<Width * sizeof(T)>::type*>(to) = piece.word;
}
)"},
    {"gather", "", R"(
template <int N, class T, class Step, class Count>  // element k of N is read if k < count
DEVICE void gather(T (&to)[N], const T* from, Step stride, Count count) {
#pragma unroll
  for (int k = 0; k < N; ++k) to[k] = Count(k) < count ? from[k * stride] : T();
}
)"},
    {"scatter", "", R"(
template <int N, class T, class Step, class Count>
DEVICE void scatter(T* to, const T (&from)[N], Step stride, Count count) {
#pragma unroll
  for (int k = 0; k < N; ++k) if (Count(k) < count) to[k * stride] = from[k];
}
)"},
    {"clamp_at", "", R"(
template <class I>  // the position that p, from -n to 2 n, becomes in an axis of n elements
DEVICE I clamp_at(I p, I n) { return p < 0 ? 0 : p < n ? p : n - 1; }
)"},
    {"wrap_at", "", R"(
template <class I>
DEVICE I wrap_at(I p, I n) { return p < 0 ? p + n : p < n ? p : p - n; }
)"},
    {"reflect_at", "", R"(
template <class I>
DEVICE I reflect_at(I p, I n) { p = p < 0 ? -p : p; return p < n ? p : n - 1 - (p - (n - 1)); }
)"},
    {"symmetric_at", "", R"(
template <class I>
DEVICE I symmetric_at(I p, I n) { p = p < 0 ? -1 - p : p; return p < n ? p : n - 1 - (p - n); }
)"},
    {"Divisor", "", R"(
struct Divisor { u32 multiplier, shift; };
)"},
    {"divide", "Divisor", R"(
DEVICE u32 divide(u32 n, Divisor d) { return (__umulhi(n, d.multiplier) + n) >> d.shift; }
)"},
    {"divide64", "", R"(
DEVICE u64 divide64(u64 n, u64 d) { return (n | d) >> 32 ? n / d : u64(u32(n) / u32(d)); }
)"},
    {"f16_to_f32", "", R"(
DEVICE float f16_to_f32(u16 x) { float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x)); return y; }
)"},
    {"f32_to_f16", "", R"(
DEVICE u16 f32_to_f16(float x) { u16 y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x)); return y; }
)"},
    {"bf16_to_f32", "", R"(
DEVICE float bf16_to_f32(u16 x) { return __uint_as_float(u32(x) << 16); }
)"},
    {"f32_to_bf16", "", R"(
DEVICE u16 f32_to_bf16(float x) {
#if __CUDA_ARCH__ >= 800
  u16 y; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x)); return y;
#else
  const u32 w = __float_as_uint(x);
  return (w & 0x7fffffffu) > 0x7f800000u ? u16(0x7fff) : u16((w + 0x7fffu + (w >> 16 & 1u)) >> 16);
#endif
}
)"},
    {"pair_f16", "f32_to_f16", R"(
DEVICE u32 pair_f16(float low, float high) {  // both rounded to nearest even, packed
#if __CUDA_ARCH__ >= 800
  u32 y; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low)); return y;
#else
  return f32_to_f16(low) | u32(f32_to_f16(high)) << 16;
#endif
}
)"},
    {"pair_bf16", "f32_to_bf16", R"(
DEVICE u32 pair_bf16(float low, float high) {  // both rounded to nearest even, packed
#if __CUDA_ARCH__ >= 800
  u32 y; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low)); return y;
#else
  return f32_to_bf16(low) | u32(f32_to_bf16(high)) << 16;
#endif
}
)"},
    {"round_f16", "pair_f16", R"(
template <int N>
DEVICE void round_f16(u16 (&to)[N], const float (&from)[N]) {
#pragma unroll
  for (int k = 0; k + 1 < N; k += 2) {
    const u32 pair = pair_f16(from[k], from[k + 1]);
    to[k] = u16(pair), to[k + 1] = u16(pair >> 16);
  }
  if (N == 1) to[0] = f32_to_f16(from[0]);
}
)"},
    {"round_bf16", "pair_bf16", R"(
template <int N>
DEVICE void round_bf16(u16 (&to)[N], const float (&from)[N]) {
#pragma unroll
  for (int k = 0; k + 1 < N; k += 2) {
    const u32 pair = pair_bf16(from[k], from[k + 1]);
    to[k] = u16(pair), to[k + 1] = u16(pair >> 16);
  }
  if (N == 1) to[0] = f32_to_bf16(from[0]);
}
)"},
    {"exp2_approximate", "", R"(
DEVICE float exp2_approximate(float x) {  // 2 ulp, results below 2^-126 are 0
#if __CUDA_ARCH__ >= 800
  float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y;
#else
  return exp2f(x);
#endif
}
)"},
    {"one_plus_erf", "exp2_approximate", R"(
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
)"},
    {"reciprocal_approximate", "", R"(
DEVICE float reciprocal_approximate(float x) {  // 1 ulp
#if __CUDA_ARCH__ >= 800
  float y; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y;
#else
  return __frcp_rn(x);
#endif
}
)"},
    {"quotient_2ulp", "reciprocal_approximate", R"(
DEVICE float quotient_2ulp(float a, float b) {  // b in [1, 2]
  const float r = reciprocal_approximate(b);
  return __fmul_rn(a, fmaf(fmaf(-b, r, 1.0f), r, r));
}
)"},
    {"half_plus_half_tanh", "exp2_approximate reciprocal_approximate", R"(
DEVICE float half_plus_half_tanh(float x) {  // within 2.4e-7; 1 / (1 + exp(-2x))
  return reciprocal_approximate(1.0f + exp2_approximate(x * -0x1.715476p+1f));
}
)"},
    {"sign_bit", "", R"(
DEVICE u32 sign_bit() {  // blockDim.z is 1; ptxas 13.0 turns a choice of known -0.0f or 1.0f into one of 0.0f or 1.0f
  return blockDim.z << 31;
}
)"},
    {"negated", "", R"(
DEVICE u32 negated(u32 x) {  // blockDim.z is 1; ptxas 13.0 drops negations in nested minima and the wrap of 16-bit abs
  return (blockDim.z >> 1) - x;
}
)"},
    {"minimum_f32", "", R"(
DEVICE float minimum_f32(float a, float b) {  // NaN propagates, -0 < +0
#if __CUDA_ARCH__ >= 800
  float y; asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y;
#else
  return a != a || b != b ? a + b : fminf(a, b);
#endif
}
)"},
    {"erfc_of_magnitude_f32", "reciprocal_approximate minimum_f32", R"(
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
)"},
    {"erfc_of_magnitude_f64", "", R"(
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
)"},
    {"maximum_f32", "", R"(
DEVICE float maximum_f32(float a, float b) {  // NaN propagates, -0 < +0
#if __CUDA_ARCH__ >= 800
  float y; asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y;
#else
  return a != a || b != b ? a + b : fmaxf(a, b);
#endif
}
)"},
    {"minimum_f64", "", R"(
DEVICE double minimum_f64(double a, double b) { return a != a || b != b ? a + b : fmin(a, b); }
)"},
    {"maximum_f64", "", R"(
DEVICE double maximum_f64(double a, double b) { return a != a || b != b ? a + b : fmax(a, b); }
)"},
}};

}  // namespace

std::string_view Prelude::use(std::string_view name) {
  for (const std::span<const Snippet> snippets :
       {std::span<const Snippet>(table), running_snippets(), reduction_snippets(), column_snippets()}) {
    for (const Snippet& snippet : snippets) {
      if (snippet.name != name) continue;
      used_.emplace(name);
      for (std::string_view rest = snippet.needs; !rest.empty();) {
        const std::size_t space = std::min(rest.find(' '), rest.size());
        use(rest.substr(0, space));
        rest.remove_prefix(std::min(space + 1, rest.size()));
      }
      return snippet.name;
    }
  }
  internal_failure("known prelude function", __FILE__, __LINE__, name);
}

std::string Prelude::text() const {
  std::string text(types);
  for (const std::span<const Snippet> snippets :
       {std::span<const Snippet>(table), running_snippets(), reduction_snippets(), column_snippets()}) {
    for (const Snippet& snippet : snippets) {
      if (used_.contains(snippet.name)) text += snippet.text;
    }
  }
  return text;
}

}  // namespace kiln::codegen::cuda
