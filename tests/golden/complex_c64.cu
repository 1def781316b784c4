// y = s0 * conj(x)
// schedule: flat, 256 threads per block, vectors of 2, last vector may be partial

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
  const float2* x0;
  float2* y0;
  u32 n0;
  float s0[2];
};

extern "C" __global__ void __launch_bounds__(256, 4) kiln_flat_sub_mul_add(const __grid_constant__ Arguments a) {
  const u32 i = (blockIdx.x * 256u + threadIdx.x) * 2u;
  if (i >= a.n0) return;
  float2 x0[2];
  float2 y0[2];
  const u32 count = a.n0 - i;
  if (count >= 2u) {
    read<2>(x0, a.x0 + i);
  } else {
    gather(x0, a.x0 + i, 1, count);
  }
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const float v0 = make_float2(a.s0[0], a.s0[1]).x;
    const float v1 = x0[k].x;
    const float v2 = v0 * v1;
    const float v3 = make_float2(a.s0[0], a.s0[1]).y;
    const float v4 = x0[k].y;
    const float v5 = v3 * v4;
    const float v6 = v2 + v5;
    const float v7 = v3 * v1;
    const float v8 = v0 * v4;
    const float v9 = v7 - v8;
    const float2 v10 = make_float2(v6, v9);
    y0[k] = v10;
  }
  if (count >= 2u) {
    write<2>(a.y0 + i, y0);
  } else {
    scatter(a.y0 + i, y0, 1, count);
  }
}
