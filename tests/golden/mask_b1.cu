// y = (x > s0) & m
// schedule: flat, 256 threads per block, vectors of 4, last vector may be partial

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

struct Arguments {
  const float* x0;
  const u8* x1;
  u8* y0;
  u32 n0;
  float s0;
};

extern "C" __global__ void __launch_bounds__(256, 4) kiln_flat_bit_and_gt(const __grid_constant__ Arguments a) {
  const u32 i = (blockIdx.x * 256u + threadIdx.x) * 4u;
  if (i >= a.n0) return;
  float x0[4];
  u8 x1[4];
  u8 y0[4];
  const u32 count = a.n0 - i;
  if (count >= 4u) {
    read<4>(x0, a.x0 + i);
    read<4>(x1, a.x1 + i);
  } else {
    gather(x0, a.x0 + i, 1, count);
    gather(x1, a.x1 + i, 1, count);
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const bool v0 = x0[k] > a.s0;
    const bool v1 = v0 && (x1[k] != 0);
    y0[k] = v1;
  }
  if (count >= 4u) {
    write<4>(a.y0 + i, y0);
  } else {
    scatter(a.y0 + i, y0, 1, count);
  }
}
