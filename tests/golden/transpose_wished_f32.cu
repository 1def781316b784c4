// c = a - transpose(b)
// schedule: transposing tiles, 128 threads per block, 32 x 32 tiles, vectors of 4, last vector may be partial

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
  u32 n1;
  i32 x0_s0;
  i32 x1_s1;
  i32 y0_s0;
};

extern "C" __global__ void __launch_bounds__(128, 8) kiln_transpose_sub(const __grid_constant__ Arguments a) {
  const u32 column = blockIdx.x * 32u;
  const u32 block = blockIdx.z * gridDim.y + blockIdx.y;
  const u32 row = block * 32u;
  if (row >= a.n0) return;
  const bool inside = row + 32u <= a.n0 && column + 32u <= a.n1;
  const u32 x4 = threadIdx.x % 8u * 4u, y4 = threadIdx.x / 8u;  // place in a tile of vectors of 4
  float x0_in[2][4];
  __shared__ float x1_tile[32][33];
  float x1_in[2][4];
  float y0_out[4];
  if (inside) {
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      const u32 r = column + p * 16u + y4, c = row + x4;
      read<4>(x1_in[p], a.x1 + (i32(r) * a.x1_s1 + i32(c)));
    }
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      const u32 r = row + p * 16u + y4, c = column + x4;
      read<4>(x0_in[p], a.x0 + i32(r) * a.x0_s0 + i32(c));
    }
  } else {
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      const u32 r = column + p * 16u + y4, c = row + x4;
      gather(x1_in[p], a.x1 + (i32(r) * a.x1_s1 + i32(c)), 1, r < a.n1 && c < a.n0 ? a.n0 - c : 0);
    }
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      const u32 r = row + p * 16u + y4, c = column + x4;
      gather(x0_in[p], a.x0 + i32(r) * a.x0_s0 + i32(c), 1, r < a.n0 && c < a.n1 ? a.n1 - c : 0);
    }
  }
#pragma unroll
  for (int p = 0; p < 2; ++p) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      x1_tile[x4 + k][p * 16 + y4] = x1_in[p][k];
    }
  }
  __syncthreads();
#pragma unroll
  for (int p = 0; p < 2; ++p) {
    const u32 r = row + p * 16u + y4, c = column + x4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float v0 = x0_in[p][k] - x1_tile[p * 16 + y4][x4 + k];
      y0_out[k] = v0;
    }
    if (inside) {
      write<4>(a.y0 + i32(r) * a.y0_s0 + i32(c), y0_out);
    } else {
      scatter(a.y0 + i32(r) * a.y0_s0 + i32(c), y0_out, 1, r < a.n0 && c < a.n1 ? a.n1 - c : 0);
    }
  }
}
