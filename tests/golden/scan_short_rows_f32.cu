// cumsum(x)
// schedule: scan, 256 threads per block, vectors of 4, 2 per thread, 32 lanes per row

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

DEVICE State0 from_lane(const State0& s, int lane) {
  State0 r;
  r.s0 = __shfl_sync(~0u, s.s0, lane);
  return r;
}

struct Arguments {
  const float* x0;
  float* y0;
  u8* workspace;
  u32* counters;
  u32 n0;
  u32 n1;
  i32 x0_s0;
  i32 y0_s0;
  Divisor d1;
};

extern "C" __global__ void __launch_bounds__(256, 4) kiln_scan_sum(const __grid_constant__ Arguments a) {
  const u32 lane = threadIdx.x % 32u;
  const u32 start = blockIdx.x * 8u + threadIdx.x / 32u;
  const bool inside = start < a.n0;
  const u32 i = inside ? start : 0;
  const u32 c0 = i;
  const float* const x0_row = a.x0 + (i32(c0) * a.x0_s0);
  float* const y0_row = a.y0 + (i32(c0) * a.y0_s0);
  const u32 last = a.n1;
  float x0[2][4];
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    const u32 at = (u * 32u + lane) * 4u;
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
    State0 run = State0{__uint_as_float(0x80000000u), 0};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      run = k > 0 ? join(run, State0{x0[u][k], 0}) : State0{x0[u][k], 0};
      s0[u][k] = run;
    }
    all0[u] = run, before0[u] = State0{__uint_as_float(0x80000000u), 0};
  }
  scan_lanes<32>(before0, all0);
  float y0[2][4];
#pragma unroll
  for (int u = 0; u < 2; ++u) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const State0 r0 = join(before0[u], s0[u][k]);
      y0[u][k] = r0.s0;
    }
    const u32 at = (u * 32u + lane) * 4u;
    const u32 count = inside && at < last ? last - at : 0;
    if (count >= 4u) {
      write<4>(y0_row + at, y0[u]);
    } else {
      scatter(y0_row + at, y0[u], 1, count);
    }
  }
}
