// cumsum(x)
// schedule: scan, 256 threads per block, vectors of 8, 2 per thread, a block per row

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

template <int N, class T, class Step, class Count>  // element k of N is read if k < count
DEVICE void gather(T (&to)[N], const T* from, Step stride, Count count) {
#pragma unroll
  for (int k = 0; k < N; ++k) to[k] = Count(k) < count ? from[k * stride] : T();
}

template <int N, class T, class Step, class Count>
DEVICE void scatter(T* to, const T (&from)[N], Step stride, Count count) {
#pragma unroll
  for (int k = 0; k < N; ++k) if (Count(k) < count) to[k * stride] = from[k];
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

template <int Lanes, class State, int N>  // vector after vector; the sum of the row. before: in the identity
DEVICE State scan_lanes(State (&before)[N], const State (&all)[N]) {
  const int self = threadIdx.x % 32, lane = threadIdx.x % Lanes;
  State run = before[0];
#pragma unroll
  for (int u = 0; u < N; ++u) {
    State sum = all[u];
    before[u] = run;
#pragma unroll
    for (int distance = 1; distance < Lanes; distance *= 2) {
      const State other = from_lane(sum, self - distance);
      if (lane >= distance) sum = join(other, sum);
    }
    if (Lanes > 1) {
      const State previous = from_lane(sum, self - 1);
      if (lane > 0) before[u] = join(run, previous);
      sum = from_lane(sum, self - lane + Lanes - 1);
    }
    run = join(run, sum);
  }
  return run;
}

template <int Warps, class State>  // the sum of the block; before: in the identity, out what precedes the warp
DEVICE State scan_warps(State& before, const State& sum) {
  __shared__ State shared[Warps];
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum;
  __syncthreads();
  State run = before;
#pragma unroll
  for (u32 warp = 0; warp < Warps; ++warp) {
    if (warp == threadIdx.x / 32) before = run;
    run = join(run, shared[warp]);
  }
  return run;
}

struct alignas(8) State0 {
  static constexpr bool symmetric = true;
  float s0;
  u32 unused0;
};
DEVICE State0 join(const State0& a, const State0& b) {
  State0 r = State0();
  const float j0_0 = a.s0 + b.s0;
  r.s0 = j0_0;
  return r;
}
DEVICE void accumulate(State0& s, State0& low, const State0& batch) {
  State0 r = join(s, batch);
  r.s0 = two_sum(s.s0, batch.s0, low.s0);
  s = r;
}
DEVICE State0 total(const State0& s, const State0& low) {
  State0 r = s;
  r.s0 = add_low(s.s0, low.s0);
  return r;
}

DEVICE State0 from_lane(const State0& s, int lane) {
  State0 r;
  r.s0 = __shfl_sync(~0u, s.s0, lane);
  return r;
}

struct Arguments {
  const u16* x0;
  u16* y0;
  u8* workspace;
  u32* counters;
  u32 n0;
  u32 n1;
  i32 x0_s0;
  i32 y0_s0;
  Divisor d1;
};

extern "C" __global__ void __launch_bounds__(256, 4) kiln_scan_sum(const __grid_constant__ Arguments a) {
  const u32 i = blockIdx.x;
  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const u32 c0 = i;
  const u16* const x0_row = a.x0 + (i32(c0) * a.x0_s0);
  u16* const y0_row = a.y0 + (i32(c0) * a.y0_s0);
  const u32 last = a.n1;
  State0 carry0[1], low0[1];
#pragma unroll
  for (int k = 0; k < 1; ++k) {
    carry0[k] = State0{__uint_as_float(0x80000000u), 0}, low0[k] = State0();
  }
  for (u32 piece = 0; piece * 4096u < last; ++piece) {
    u16 x0[2][8];
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const u32 at = (piece * 8u + warp) * 512u + (u * 32u + lane) * 8u;
      const u32 count = at < last ? last - at : 0;
      if (count >= 8u) {
        read<8>(x0[u], x0_row + at);
      } else {
        gather(x0[u], x0_row + at, 1, count);
      }
    }
    State0 s0[2][8], before0[2], all0[2];
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      State0 run = State0{__uint_as_float(0x80000000u), 0};
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        const float v0 = bf16_to_f32(x0[u][k]);
        run = k > 0 ? join(run, State0{v0, 0}) : State0{v0, 0};
        s0[u][k] = run;
      }
      all0[u] = run, before0[u] = State0{__uint_as_float(0x80000000u), 0};
    }
    State0 total0[1], outer0 = State0{__uint_as_float(0x80000000u), 0};
    total0[0] = scan_lanes<32>(before0, all0);
    total0[0] = scan_warps<8>(outer0, total0[0]);
#pragma unroll
    for (int k = 0; k < 1; ++k) {
      outer0 = join(total(carry0[k], low0[k]), outer0);
      accumulate(carry0[k], low0[k], total0[k]);
    }
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      before0[u] = join(outer0, before0[u]);
    }
    u16 y0[2][8];
    float y0_f32[2][8];
#pragma unroll
    for (int u = 0; u < 2; ++u) {
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        const State0 r0 = join(before0[u], s0[u][k]);
        y0_f32[u][k] = r0.s0;
      }
      round_bf16(y0[u], y0_f32[u]);
      const u32 at = (piece * 8u + warp) * 512u + (u * 32u + lane) * 8u;
      const u32 count = at < last ? last - at : 0;
      if (count >= 8u) {
        write<8>(y0_row + at, y0[u]);
      } else {
        scatter(y0_row + at, y0[u], 1, count);
      }
    }
  }
}
