// e / sum(e), e = exp(x - max(x))
// schedule: columns, 256 threads per block, vectors of 8, 8 rows at a time

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

DEVICE float maximum_f32(float a, float b) {  // NaN propagates, -0 < +0
#if __CUDA_ARCH__ >= 800
  float y; asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y;
#else
  return a != a || b != b ? a + b : fmaxf(a, b);
#endif
}

template <class Float>
DEVICE Float two_sum(Float a, Float b, Float& low) {  // a + b; what rounding lost is added to low
  const Float sum = a + b, part = sum - a;
  low += (a - (sum - part)) + (b - part);
  return sum;
}

template <class Float>
DEVICE Float add_low(Float sum, Float low) {  // not finite: the sum overflowed or met inf or NaN, and stands for itself
  return low != Float(0) && low - low == Float(0) ? sum + low : sum;
}

template <class State, int N>
DEVICE State tree(State (&s)[N]) {
#pragma unroll
  for (int w = 1; w < N; w *= 2)
#pragma unroll
    for (int k = 0; k + w < N; k += 2 * w) s[k] = join(s[k], s[k + w]);
  return s[0];
}

template <int Threads, class State, int N>
DEVICE void join_rows(State (&s)[N]) {  // over threadIdx.y, in a fixed order; the result is that of row 0 of the block
  __shared__ State shared[N][Threads / 2];
  for (u32 n = blockDim.y, half; n > 1; n = half) {
    half = (n + 1) / 2;
    __syncthreads();
    if (threadIdx.y >= half && threadIdx.y < n) {
#pragma unroll
      for (int k = 0; k < N; ++k) shared[k][(threadIdx.y - half) * blockDim.x + threadIdx.x] = s[k];
    }
    __syncthreads();
    if (threadIdx.y + half < n) {
#pragma unroll
      for (int k = 0; k < N; ++k) s[k] = join(s[k], shared[k][threadIdx.y * blockDim.x + threadIdx.x]);
    }
  }
}

template <int Threads, class State, int N>
DEVICE void join_rows_everywhere(State (&s)[N]) {  // the same, and every thread gets the result
  join_rows<Threads>(s);
  if (blockDim.y == 1) return;
  __shared__ State shared[N][Threads / 2];
  if (threadIdx.y == 0) {
#pragma unroll
    for (int k = 0; k < N; ++k) shared[k][threadIdx.x] = s[k];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < N; ++k) s[k] = shared[k][threadIdx.x];
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
DEVICE void accumulate(State0& s, State0&, const State0& batch) {
  const State0 r = join(s, batch);
  s = r;
}
DEVICE State0 total(const State0& s, const State0&) {
  return s;
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
DEVICE void accumulate(State1& s, State1& low, const State1& batch) {
  State1 r = join(s, batch);
  r.s0 = two_sum(s.s0, batch.s0, low.s0);
  s = r;
}
DEVICE State1 total(const State1& s, const State1& low) {
  State1 r = s;
  r.s0 = add_low(s.s0, low.s0);
  return r;
}

struct Arguments {
  const u16* x0;
  u16* y0;
  u8* workspace;
  u32* counters;
  u32 n0;
  u32 n1;
  i32 x0_s1;
  i32 y0_s1;
  Divisor d1;
};

extern "C" __global__ void __launch_bounds__(256, 2) kiln_column_div_sum_exp_sub(const __grid_constant__ Arguments a) {
  const u32 kept = a.n0;
  const u32 start = (blockIdx.x * blockDim.x + threadIdx.x) * 8u;
  const bool inside = start < kept;
  const u32 i = inside ? start : 0;
  const u32 c0 = i;
  const u16* const x0_column = a.x0 + (i32(c0));
  u16* const y0_column = a.y0 + (i32(c0));
  const u32 last = a.n1;
  const u32 first = threadIdx.y;
  State0 s0[8], low0[8];
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    s0[k] = State0{__uint_as_float(0xff800000u), 0}, low0[k] = State0();
  }
  {
    u32 row = first;
#pragma unroll
    for (int tail = 0; tail < 2; ++tail) {
      for (; tail ? row < last : row + 7u * blockDim.y < last; row += 8u * blockDim.y) {
        u16 x0[8][8];
#pragma unroll
        for (int u = 0; u < 8; ++u) {
          const u32 at = row + u * blockDim.y;
          const u32 c1 = tail && at >= last ? last - 1 : at;
          read<8>(x0[u], x0_column + i32(c1) * a.x0_s1);
        }
#pragma unroll
        for (int k = 0; k < 8; ++k) {
          State0 batch[8];
#pragma unroll
          for (int u = 0; u < 8; ++u) {
            const float v0 = bf16_to_f32(x0[u][k]);
            batch[u] = !tail || row + u * blockDim.y < last ? State0{v0, 0} : State0{__uint_as_float(0xff800000u), 0};
          }
          accumulate(s0[k], low0[k], tree(batch));
        }
      }
    }
  }
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    s0[k] = total(s0[k], low0[k]);
  }
  join_rows_everywhere<256>(s0);
  State1 s1[8], low1[8];
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    s1[k] = State1{__uint_as_float(0x80000000u), 0}, low1[k] = State1();
  }
  {
    u32 row = first;
#pragma unroll
    for (int tail = 0; tail < 2; ++tail) {
      for (; tail ? row < last : row + 7u * blockDim.y < last; row += 8u * blockDim.y) {
        u16 x0[8][8];
#pragma unroll
        for (int u = 0; u < 8; ++u) {
          const u32 at = row + u * blockDim.y;
          const u32 c1 = tail && at >= last ? last - 1 : at;
          read<8>(x0[u], x0_column + i32(c1) * a.x0_s1);
        }
#pragma unroll
        for (int k = 0; k < 8; ++k) {
          State1 batch[8];
#pragma unroll
          for (int u = 0; u < 8; ++u) {
            const float v0 = bf16_to_f32(x0[u][k]);
            const float v1 = v0 - s0[k].s0;
            const float v2 = expf(v1);
            batch[u] = !tail || row + u * blockDim.y < last ? State1{v2, 0} : State1{__uint_as_float(0x80000000u), 0};
          }
          accumulate(s1[k], low1[k], tree(batch));
        }
      }
    }
  }
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    s1[k] = total(s1[k], low1[k]);
  }
  join_rows_everywhere<256>(s1);
  const u32 step = 8u * blockDim.y;
  for (u32 n = (last + step - 1) / step; n-- > 0;) {
    const u32 row = first + n * step;
    if (row >= last) continue;
    u16 x0[8][8];
#pragma unroll
    for (int u = 0; u < 8; ++u) {
      const u32 at = row + u * blockDim.y;
      const u32 c1 = at >= last ? last - 1 : at;
      read<8>(x0[u], x0_column + i32(c1) * a.x0_s1);
    }
    u16 y0[8][8];
    float y0_f32[8][8];
#pragma unroll
    for (int u = 0; u < 8; ++u) {
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        const float v0 = bf16_to_f32(x0[u][k]);
        const float v1 = v0 - s0[k].s0;
        const float v2 = expf(v1);
        const float v3 = v2 / s1[k].s0;
        y0_f32[u][k] = v3;
      }
      round_bf16(y0[u], y0_f32[u]);
      if (inside && row + u * blockDim.y < last) {
        const u32 c1 = row + u * blockDim.y;
        write<8>(y0_column + i32(c1) * a.y0_s1, y0[u]);
      }
    }
  }
}
