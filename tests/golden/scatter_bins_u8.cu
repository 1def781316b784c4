// y[i] += x, few places
// schedule: flat, 256 threads per block, vectors of 4, no partial vector, blocks take tiles in turn

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

DEVICE void join_at(u8* to, u8 value) {
  const u64 address = reinterpret_cast<u64>(to);
  u32* const word = reinterpret_cast<u32*>(address & ~u64(3));
  const u32 shift = u32(address & 3) * 8;
  u32 seen = *word, old;
  do {
    old = seen;
    const u8 now = u8(old >> shift);
    const u8 next = u8(u32(now) + u32(value));
    seen = atomicCAS(word, old, (old & ~(0xffu << shift)) | (u32(u8(next)) << shift));
  } while (seen != old);
}
struct Arguments {
  const i32* x0;
  const u8* x1;
  u8* y0;
  i64* y1;
  u32 n0;
  i64 s0;
  i64 s1;
};

extern "C" __global__ void __launch_bounds__(256) kiln_bins(const __grid_constant__ Arguments a) {
  alignas(4) __shared__ u8 bins[24576];
  const u32 count_of_bins = u32(a.s1);
  u32 copies = 8u;
  while (copies > 1 && copies * count_of_bins > 24576u) copies /= 2;
  for (u32 b = threadIdx.x; b < copies * count_of_bins; b += 256u) bins[b] = u8(0);
  __syncthreads();
  u8* const own = bins + threadIdx.x / 32u % copies * count_of_bins;
  for (u32 tile = u32(blockIdx.x) * 1024u; tile < a.n0; tile += u32(gridDim.x) * 1024u) {
    const u32 i = tile + threadIdx.x * 4u;
    if (i < a.n0) {
      i32 x0[4];
      u8 x1[4];
      u8 y0[4];
      i64 y1[4];
      read<4>(x0, a.x0 + i);
      read<4>(x1, a.x1 + i);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const i64 v0 = i64(x0[k]);
        const bool v1 = v0 < 0ll;
        const i64 v2 = i64(u64(v0) + u64(a.s0));
        const i64 v3 = v1 ? v2 : v0;
        const bool v4 = v3 >= 0ll;
        const bool v5 = v3 < a.s0;
        const bool v6 = v4 && v5;
        const i64 v7 = v6 ? v3 : (-1ll);
        y0[k] = x1[k];
        y1[k] = v7;
      }
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        if (u32(k) < 4u && y1[k] >= 0) join_at(own + y1[k], y0[k]);
      }
    }
  }
  __syncthreads();
  for (u32 b = threadIdx.x; b < count_of_bins; b += 256u) {
    u8 sum = bins[b];
    for (u32 c = 1; c < copies; ++c) sum = u8(u32(sum) + u32(bins[c * count_of_bins + b]));
    if (sum != u8(0)) join_at(a.y0 + b, sum);
  }
}
