// sum(x * s), max(x), prod(1 + x / 64), any(x > s)
// schedule: columns, 256 threads per block, vectors of 2, 4 rows at a time

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

struct alignas(8) State0 {
  static constexpr bool symmetric = true;
  float s0;
  float s1;
  float s2;
  bool s3;
  u8 unused0;
  u16 unused1;
};
DEVICE State0 join(const State0& a, const State0& b) {
  State0 r = State0();
  const float j0_0 = a.s0 + b.s0;
  r.s0 = j0_0;
  const float j1_0 = maximum_f32(a.s1, b.s1);
  r.s1 = j1_0;
  const float j2_0 = a.s2 * b.s2;
  r.s2 = j2_0;
  const bool j3_0 = a.s3 || b.s3;
  r.s3 = j3_0;
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

struct Arguments {
  const float* x0;
  const float* x1;
  float* y0;
  float* y1;
  float* y2;
  u8* y3;
  u8* workspace;
  u32* counters;
  u32 n0;
  u32 n1;
  i32 x0_s1;
  Divisor d1;
};

extern "C" __global__ void __launch_bounds__(256, 4) kiln_column_any_gt_prod_add(const __grid_constant__ Arguments a) {
  const u32 kept = a.n0;
  const u32 start = (blockIdx.x * blockDim.x + threadIdx.x) * 2u;
  const bool inside = start < kept;
  const u32 i = inside ? start : 0;
  const u32 c0 = i;
  const float* const x0_column = a.x0 + (i32(c0));
  const float* const x1_column = a.x1 + (i32(c0));
  float* const y0_column = a.y0 + (i32(c0));
  float* const y1_column = a.y1 + (i32(c0));
  float* const y2_column = a.y2 + (i32(c0));
  u8* const y3_column = a.y3 + (i32(c0));
  const u32 last = a.n1;
  const u32 first = threadIdx.y;
  float x1[2];
  read<1>(x1, x1_column);
  State0 s0[2], low0[2];
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    s0[k] = State0{__uint_as_float(0x80000000u), __uint_as_float(0xff800000u), 1.0f, false, 0, 0}, low0[k] = State0();
  }
  {
    u32 row = first;
#pragma unroll
    for (int tail = 0; tail < 2; ++tail) {
      for (; tail ? row < last : row + 3u * blockDim.y < last; row += 4u * blockDim.y) {
        float x0[4][2];
#pragma unroll
        for (int u = 0; u < 4; ++u) {
          const u32 at = row + u * blockDim.y;
          const u32 c1 = tail && at >= last ? last - 1 : at;
          read<2>(x0[u], x0_column + i32(c1) * a.x0_s1);
        }
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          State0 batch[4];
#pragma unroll
          for (int u = 0; u < 4; ++u) {
            const float v0 = x0[u][k] * x1[k];
            const float v1 = __fmul_rn(x0[u][k], 0x1p-12f);
            const float v2 = v1 + 1.0f;
            const bool v3 = x0[u][k] > x1[k];
            batch[u] = !tail || row + u * blockDim.y < last ? State0{v0, x0[u][k], v2, v3, 0, 0} : State0{__uint_as_float(0x80000000u), __uint_as_float(0xff800000u), 1.0f, false, 0, 0};
          }
          accumulate(s0[k], low0[k], tree(batch));
        }
      }
    }
  }
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    s0[k] = total(s0[k], low0[k]);
  }
  join_rows<256>(s0);
  if (threadIdx.y > 0 || !inside) return;
  float y0[2];
  float y1[2];
  float y2[2];
  u8 y3[2];
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    y0[k] = s0[k].s0;
    y1[k] = s0[k].s1;
    y2[k] = s0[k].s2;
    y3[k] = s0[k].s3;
  }
  write<1>(y0_column, y0);
  write<1>(y1_column, y1);
  write<1>(y2_column, y2);
  write<1>(y3_column, y3);
}
