// y = take(table, ids, 0)
// schedule: rows, 256 threads per block, vectors of 8, no partial vector

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

struct Arguments {
  const i32* x0;
  const u16* x2;
  u16* y0;
  i64 x1_start;
  u32 n0;
  u32 n1;
  i32 y0_s0;
  i64 s0;
  i64 s1;
  i64 s2;
};

extern "C" __global__ void __launch_bounds__(256, 4) kiln_rows_take(const __grid_constant__ Arguments a) {
  const u32 i = (blockIdx.x * blockDim.x + threadIdx.x) * 8u;
  const u32 row = (blockIdx.z * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;
  if (i >= a.n1) return;
  const u32 c0 = row;
  if (c0 >= a.n0) return;
  const i32* const x0_row = a.x0 + (i32(c0));
  u16* const y0_row = a.y0 + (i32(c0) * a.y0_s0);
  const i32 x0 = *x0_row;
  u16 y0[8];
  const i64 r0 = i64(x0);
  const bool r1 = r0 < 0ll;
  const i64 r2 = i64(u64(r0) + u64(a.s0));
  const i64 r3 = r1 ? r2 : r0;
  const bool r4 = r3 >= 0ll;
  const bool r5 = r3 < a.s0;
  const bool r6 = r4 && r5;
  const i64 r7 = i64(u64(r3) * u64(a.s1));
  const i64 r8 = r6 ? r7 : (-1ll);
  const bool g0_exists = r8 >= 0;
  const u16* const g0_row = a.x2 + ((g0_exists ? r8 : 0) + a.x1_start);
  u16 g0[8];
  read<8>(g0, g0_row + i);
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    y0[k] = (g0_exists ? g0[k] : u16(0x7fc0));
  }
  write<8>(y0_row + i, y0);
}
