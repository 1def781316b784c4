// y = x * scale(row) + offset(column) + t
// schedule: rows, 256 threads per block, vectors of 4, last vector may be partial

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
  const float* x2;
  const float* x3;
  float* y0;
  u32 n0;
  u32 n1;
  i32 x0_s0;
  i32 y0_s0;
};

extern "C" __global__ void __launch_bounds__(256, 4) kiln_rows_add_mul(const __grid_constant__ Arguments a) {
  const u32 i = (blockIdx.x * blockDim.x + threadIdx.x) * 4u;
  const u32 row = (blockIdx.z * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;
  if (i >= a.n1) return;
  const u32 c0 = row;
  if (c0 >= a.n0) return;
  const float* const x0_row = a.x0 + (i32(c0) * a.x0_s0);
  const float* const x1_row = a.x1 + (i32(c0));
  float* const y0_row = a.y0 + (i32(c0) * a.y0_s0);
  float x0[4];
  const float x1 = *x1_row;
  float x2[4];
  const float x3 = *a.x3;
  float y0[4];
  const u32 count = a.n1 - i;
  if (count >= 4u) {
    read<4>(x0, x0_row + i);
    read<4>(x2, a.x2 + i);
  } else {
    gather(x0, x0_row + i, 1, count);
    gather(x2, a.x2 + i, 1, count);
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float v0 = x0[k] * x1;
    const float v1 = v0 + x2[k];
    const float v2 = v1 + x3;
    y0[k] = v2;
  }
  if (count >= 4u) {
    write<4>(y0_row + i, y0);
  } else {
    scatter(y0_row + i, y0, 1, count);
  }
}
