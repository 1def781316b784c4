// y = x + index(0) * MIN
// schedule: n-d rows, 256 threads per block, vectors of 2, no partial vector

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

DEVICE u64 divide64(u64 n, u64 d) { return (n | d) >> 32 ? n / d : u64(u32(n) / u32(d)); }

struct Arguments {
  const i64* x0;
  i64* y0;
  i64 x1_start;
  u64 n0;
  u64 n1;
  u64 n2;
  i64 x0_s0;
  i64 x0_s1;
  i64 y0_s0;
  i64 y0_s1;
};

extern "C" __global__ void __launch_bounds__(256, 4) kiln_general_add_mul(const __grid_constant__ Arguments a) {
  const u64 i = (u64(blockIdx.x) * blockDim.x + threadIdx.x) * 2u;
  const u64 row = (u64(blockIdx.z) * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;
  if (i >= a.n2) return;
  const u64 q1 = divide64(row, a.n1);
  const u64 c1 = row - q1 * a.n1;
  const u64 c0 = q1;
  if (c0 >= a.n0) return;
  const i64* const x0_row = a.x0 + (i64(c0) * a.x0_s0 + i64(c1) * a.x0_s1);
  const i64 x1_row = a.x1_start + i64(c0);
  i64* const y0_row = a.y0 + (i64(c0) * a.y0_s0 + i64(c1) * a.y0_s1);
  i64 x0[2];
  i64 y0[2];
  read<2>(x0, x0_row + i);
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const i64 v0 = i64(u64(x1_row) * u64((-9223372036854775807ll - 1)));
    const i64 v1 = i64(u64(x0[k]) + u64(v0));
    y0[k] = v1;
  }
  write<2>(y0_row + i, y0);
}
