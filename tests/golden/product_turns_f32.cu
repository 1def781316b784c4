// y = s0 * x * y
// schedule: flat, 128 threads per block, vectors of 2, 3 per thread, no partial vector, blocks take tiles in turn

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
  const float* x1;
  float* y0;
  u32 n0;
  float s0;
};

extern "C" __global__ void __launch_bounds__(128) kiln_flat_mul(const __grid_constant__ Arguments a) {
  for (u32 i = (blockIdx.x * 384u + threadIdx.x) * 2u; i < a.n0; i += gridDim.x * 768u) {
    float x0[3][2];
    float x1[3][2];
    float y0[3][2];
#pragma unroll
    for (int u = 0; u < 3; ++u) {
      const u32 j = i + u * 256u;
      const u32 count = j < a.n0 ? a.n0 - j : 0;
      if (count >= 2u) {
        read<2>(x0[u], a.x0 + j);
        read<2>(x1[u], a.x1 + j);
      } else {
        gather(x0[u], a.x0 + j, 1, count);
        gather(x1[u], a.x1 + j, 1, count);
      }
    }
#pragma unroll
    for (int u = 0; u < 3; ++u) {
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const float v0 = a.s0 * x0[u][k];
        const float v1 = v0 * x1[u][k];
        y0[u][k] = v1;
      }
    }
#pragma unroll
    for (int u = 0; u < 3; ++u) {
      const u32 j = i + u * 256u;
      const u32 count = j < a.n0 ? a.n0 - j : 0;
      if (count >= 2u) {
        write<2>(a.y0 + j, y0[u]);
      } else {
        scatter(a.y0 + j, y0[u], 1, count);
      }
    }
  }
}
