// counts[x] += n
// schedule: flat, 256 threads per block, vectors of 16, no partial vector, blocks take tiles in turn

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

DEVICE void join_at(i64* to, i64 value) {
  atomicAdd(reinterpret_cast<u64*>(to), u64(value));
}
struct Arguments {
  const u8* x0;
  i64* y0;
  i64* y1;
  u32 n0;
  i64 s0;
  i64 s1;
  i64 s2;
};

extern "C" __global__ void __launch_bounds__(256) kiln_bins(const __grid_constant__ Arguments a) {
  __shared__ u32 bins[6144];
  const u32 count_of_bins = u32(a.s2);
  u32 copies = 8u;
  while (copies > 1 && copies * count_of_bins > 6144u) copies /= 2;
  for (u32 b = threadIdx.x; b < copies * count_of_bins; b += 256u) bins[b] = u32(0);
  __syncthreads();
  u32* const own = bins + threadIdx.x / 32u % copies * count_of_bins;
  for (u32 tile = u32(blockIdx.x) * 4096u; tile < a.n0; tile += u32(gridDim.x) * 4096u) {
    const u32 i = tile + threadIdx.x * 16u;
    if (i < a.n0) {
      u8 x0[16];
      i64 y1[16];
      read<16>(x0, a.x0 + i);
#pragma unroll
      for (int k = 0; k < 16; ++k) {
        const i64 v0 = i64(x0[k]);
        const bool v1 = v0 < 0ll;
        const i64 v2 = i64(u64(v0) + u64(a.s0));
        const i64 v3 = v1 ? v2 : v0;
        const bool v4 = v3 >= 0ll;
        const bool v5 = v3 < a.s0;
        const bool v6 = v4 && v5;
        const i64 v7 = v6 ? v3 : (-1ll);
        y1[k] = v7;
      }
#pragma unroll
      for (int k = 0; k < 16; ++k) {
        if (u32(k) < 16u && y1[k] >= 0) atomicAdd(own + y1[k], 1u);
      }
    }
  }
  __syncthreads();
  for (u32 b = threadIdx.x; b < count_of_bins; b += 256u) {
    u32 sum = bins[b];
    for (u32 c = 1; c < copies; ++c) sum = sum + bins[c * count_of_bins + b];
    if (sum != u32(0)) join_at(a.y0 + b, i64(u64(sum) * u64(a.s1)));
  }
}
