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
constexpr std::array<Snippet, 34> table = {{
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
       {std::span<const Snippet>(table), reduction_snippets(), column_snippets()}) {
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
       {std::span<const Snippet>(table), reduction_snippets(), column_snippets()}) {
    for (const Snippet& snippet : snippets) {
      if (used_.contains(snippet.name)) text += snippet.text;
    }
  }
  return text;
}

}  // namespace kiln::codegen::cuda
