// y = take(x, i) + 1
// schedule: flat, 256 threads per block, vectors of 2, no partial vector

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
  const i64* x0;
  const float* x1;
  float* y0;
  u32 n0;
  i64 s0;
};

extern "C" __global__ void __launch_bounds__(256, 4) kiln_flat_add_take(const __grid_constant__ Arguments a) {
  const u32 i = (blockIdx.x * 256u + threadIdx.x) * 2u;
  if (i >= a.n0) return;
  i64 x0[2];
  float y0[2];
  read<2>(x0, a.x0 + i);
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const bool v0 = x0[k] < 0ll;
    const i64 v1 = i64(u64(x0[k]) + u64(a.s0));
    const i64 v2 = v0 ? v1 : x0[k];
    const bool v3 = v2 >= 0ll;
    const bool v4 = v2 < a.s0;
    const bool v5 = v3 && v4;
    const i64 v6 = v5 ? v2 : (-1ll);
    const float v7 = v6 >= 0 ? a.x1[v6] : __uint_as_float(0x7fc00000u);
    const float v8 = v7 + 1.0f;
    y0[k] = v8;
  }
  write<2>(a.y0 + i, y0);
}
