// y = x * scale(point) + shift
// schedule: dense, 256 threads per block, vectors of 4, last vector may be partial

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
  float* y0;
  u32 n0;
  u32 n1;
  i32 x0_s0;
  i32 y0_s0;
};

extern "C" __global__ void __launch_bounds__(256, 4) kiln_dense_add_mul(const __grid_constant__ Arguments a) {
  const u32 i = (blockIdx.x * 256u + threadIdx.x) * 4u;
  const u32 n = a.n0 * a.n1;
  if (i >= n) return;
  const u32 q1 = i / a.n1;
  u32 c1 = i - q1 * a.n1;
  u32 c0 = q1;
  float x0[4];
  float y0[4];
  const u32 count = n - i;
  if (count >= 4u) {
    read<2>(x0, a.x0 + i);
  } else {
    gather(x0, a.x0 + i, 1, count);
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float x1 = u32(k) < count ? a.x1[i32(c0)] : float();
    const float x2 = u32(k) < count ? a.x2[i32(c1)] : float();
    const float v0 = x0[k] * x1;
    const float v1 = v0 + x2;
    y0[k] = v1;
    if (++c1 == a.n1) { c1 = 0; ++c0; }
  }
  if (count >= 4u) {
    write<2>(a.y0 + i, y0);
  } else {
    scatter(a.y0 + i, y0, 1, count);
  }
}
