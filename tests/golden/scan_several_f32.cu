// x - cumsum(x * s), cummax(x), position - cummin(x)
// schedule: scan, 256 threads per block, vectors of 4, 2 per thread, a block per row

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
  float s1;
  float s2;
  u32 unused0;
};
DEVICE State0 join(const State0& a, const State0& b) {
  State0 r = State0();
  const float j0_0 = a.s0 + b.s0;
  r.s0 = j0_0;
  const float j1_0 = maximum_f32(a.s1, b.s1);
  r.s1 = j1_0;
  const float j2_0 = minimum_f32(a.s2, b.s2);
  r.s2 = j2_0;
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
  r.s1 = __shfl_sync(~0u, s.s1, lane);
  r.s2 = __shfl_sync(~0u, s.s2, lane);
  return r;
}

struct Arguments {
  const float* x0;
  const float* x1;
  float* y0;
  float* y1;
  float* y2;
  i64 x2_start;
  u8* workspace;
  u32* counters;
  u32 n0;
  u32 n1;
  i32 x0_s0;
  i32 y0_s0;
  i32 y1_s0;
  i32 y2_s0;
  Divisor d1;
};

extern "C" __global__ void __launch_bounds__(256, 2) kiln_scan_sub_min_max_sum(const __grid_constant__ Arguments a) {
  const u32 i = blockIdx.x;
  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const u32 c0 = i;
  const float* const x0_row = a.x0 + (i32(c0) * a.x0_s0);
  const float* const x1_row = a.x1 + (i32(c0));
  float* const y0_row = a.y0 + (i32(c0) * a.y0_s0);
  float* const y1_row = a.y1 + (i32(c0) * a.y1_s0);
  float* const y2_row = a.y2 + (i32(c0) * a.y2_s0);
  const float x1 = *x1_row;
  const u32 last = a.n1;
  State0 carry0[1], low0[1];
#pragma unroll
  for (int k = 0; k < 1; ++k) {
    carry0[k] = State0{__uint_as_float(0x80000000u), __uint_as_float(0xff800000u), __uint_as_float(0x7f800000u), 0}, low0[k] = State0();
  }
  for (u32 piece = 0; piece * 2048u < last; ++piece) {
    float x0[2][4];
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const u32 at = (piece * 8u + warp) * 256u + (u * 32u + lane) * 4u;
      const u32 count = at < last ? last - at : 0;
      if (count >= 4u) {
        read<4>(x0[u], x0_row + at);
      } else {
        gather(x0[u], x0_row + at, 1, count);
      }
    }
    State0 s0[2][4], before0[2], all0[2];
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      State0 run = State0{__uint_as_float(0x80000000u), __uint_as_float(0xff800000u), __uint_as_float(0x7f800000u), 0};
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float v0 = x0[u][k] * x1;
        run = k > 0 ? join(run, State0{v0, x0[u][k], x0[u][k], 0}) : State0{v0, x0[u][k], x0[u][k], 0};
        s0[u][k] = run;
      }
      all0[u] = run, before0[u] = State0{__uint_as_float(0x80000000u), __uint_as_float(0xff800000u), __uint_as_float(0x7f800000u), 0};
    }
    State0 total0[1], outer0 = State0{__uint_as_float(0x80000000u), __uint_as_float(0xff800000u), __uint_as_float(0x7f800000u), 0};
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
    float y0[2][4];
    float y1[2][4];
    float y2[2][4];
#pragma unroll
    for (int u = 0; u < 2; ++u) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const u32 c1 = (piece * 8u + warp) * 256u + (u * 32u + lane) * 4u + k;
        const State0 r0 = join(before0[u], s0[u][k]);
        const float v1 = x0[u][k] - r0.s0;
        const float v2 = float((a.x2_start + i64(c1)));
        const float v3 = v2 - r0.s2;
        y0[u][k] = v1;
        y1[u][k] = r0.s1;
        y2[u][k] = v3;
      }
      const u32 at = (piece * 8u + warp) * 256u + (u * 32u + lane) * 4u;
      const u32 count = at < last ? last - at : 0;
      if (count >= 4u) {
        write<4>(y0_row + at, y0[u]);
      } else {
        scatter(y0_row + at, y0[u], 1, count);
      }
      if (count >= 4u) {
        write<4>(y1_row + at, y1[u]);
      } else {
        scatter(y1_row + at, y1[u], 1, count);
      }
      if (count >= 4u) {
        write<4>(y2_row + at, y2[u]);
      } else {
        scatter(y2_row + at, y2[u], 1, count);
      }
    }
  }
}
