// y, turns = repeat(s0, (x, 0), x x + c unless x > 4)
// schedule: flat, 256 threads per block, vectors of 4, no partial vector

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

struct repeat_3420d43d40ee79a9_states { float s0; i32 s1; };
static __device__ repeat_3420d43d40ee79a9_states repeat_3420d43d40ee79a9(i32 n, float s0, i32 s1, float c0) {
  for (i32 turn = 0; turn < n; ++turn) {
    const bool v0 = s0 > 4.0f;
    if (v0) break;
    const float v1 = s0 * s0;
    const float v2 = v1 + c0;
    const i32 v3 = i32(u32(s1) + u32(1));
    const float t0 = v2;
    const i32 t1 = v3;
    s0 = t0;
    s1 = t1;
  }
  return {s0, s1};
}

struct Arguments {
  const float* x0;
  const float* x1;
  float* y0;
  i32* y1;
  u32 n0;
  i32 s0;
};

extern "C" __global__ void __launch_bounds__(256, 4) kiln_flat_repeat(const __grid_constant__ Arguments a) {
  const u32 i = (blockIdx.x * 256u + threadIdx.x) * 4u;
  if (i >= a.n0) return;
  float x0[4];
  float x1[4];
  float y0[4];
  i32 y1[4];
  read<4>(x0, a.x0 + i);
  read<4>(x1, a.x1 + i);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const repeat_3420d43d40ee79a9_states v0_states = repeat_3420d43d40ee79a9(a.s0, x0[k], 0, x1[k]);
    const float v0 = v0_states.s0;
    const i32 v1 = v0_states.s1;
    y0[k] = v0;
    y1[k] = v1;
  }
  write<4>(a.y0 + i, y0);
  write<4>(a.y1 + i, y1);
}
