// y = smooth(low(row), s0, x) * x
// schedule: rows, 256 threads per block, vectors of 4, no partial vector

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

namespace smooth_1dac07b352acaccb {
#line 1 "preamble of kl::function smooth"
__device__ float cubic(float t) { return t * t * (3.f - 2.f * t); }
#pragma nv_diag_error 940
DEVICE float smooth_text(float a, float b, float x) {
#line 1 "kl::function smooth"
float t = fminf(fmaxf((x - a) / (b - a), 0.f), 1.f);
return cubic(t);
}
#pragma nv_diag_default 940
#line 56 "kiln_rows_mul_smooth.cu"
}

struct Arguments {
  const float* x0;
  const float* x1;
  float* y0;
  u32 n0;
  u32 n1;
  i32 x0_s0;
  i32 y0_s0;
  float s0;
};

extern "C" __global__ void __launch_bounds__(256, 4) kiln_rows_mul_smooth(const __grid_constant__ Arguments a) {
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
  float y0[4];
  read<4>(x0, x0_row + i);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float v0 = smooth_1dac07b352acaccb::smooth_text(x1, a.s0, x0[k]);
    const float v1 = v0 * x0[k];
    y0[k] = v1;
  }
  write<4>(y0_row + i, y0);
}
