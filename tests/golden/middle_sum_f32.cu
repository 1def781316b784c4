// sum of rows
// schedule: columns, 256 threads per block, vectors of 4, 8 rows at a time

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

DEVICE u32 divide(u32 n, Divisor d) { return (__umulhi(n, d.multiplier) + n) >> d.shift; }

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

struct Arguments {
  const float* x0;
  float* y0;
  u8* workspace;
  u32* counters;
  u32 n0;
  u32 n1;
  u32 n2;
  i32 x0_s0;
  i32 x0_s2;
  i32 y0_s0;
  Divisor d1;
  Divisor d2;
};

extern "C" __global__ void __launch_bounds__(256, 4) kiln_column_sum(const __grid_constant__ Arguments a) {
  const u32 kept = a.n0 * a.n1;
  const u32 start = (blockIdx.x * blockDim.x + threadIdx.x) * 4u;
  const bool inside = start < kept;
  const u32 i = inside ? start : 0;
  const u32 q1 = divide(i, a.d1);
  const u32 c1 = i - q1 * a.n1;
  const u32 c0 = q1;
  const float* const x0_column = a.x0 + (i32(c0) * a.x0_s0 + i32(c1));
  float* const y0_column = a.y0 + (i32(c0) * a.y0_s0 + i32(c1));
  const u32 last = a.n2;
  const u32 first = threadIdx.y;
  State0 s0[4], low0[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    s0[k] = State0{__uint_as_float(0x80000000u), 0}, low0[k] = State0();
  }
  {
    u32 row = first;
#pragma unroll
    for (int tail = 0; tail < 2; ++tail) {
      for (; tail ? row < last : row + 7u * blockDim.y < last; row += 8u * blockDim.y) {
        float x0[8][4];
#pragma unroll
        for (int u = 0; u < 8; ++u) {
          const u32 at = row + u * blockDim.y;
          const u32 c2 = tail && at >= last ? last - 1 : at;
          read<4>(x0[u], x0_column + i32(c2) * a.x0_s2);
        }
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          State0 batch[8];
#pragma unroll
          for (int u = 0; u < 8; ++u) {
            batch[u] = !tail || row + u * blockDim.y < last ? State0{x0[u][k], 0} : State0{__uint_as_float(0x80000000u), 0};
          }
          accumulate(s0[k], low0[k], tree(batch));
        }
      }
    }
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    s0[k] = total(s0[k], low0[k]);
  }
  join_rows<256>(s0);
  if (threadIdx.y > 0 || !inside) return;
  float y0[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    y0[k] = s0[k].s0;
  }
  write<1>(y0_column, y0);
}
