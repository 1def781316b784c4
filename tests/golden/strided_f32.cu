// y = sqrt(x(::2)) - z
// schedule: flat, 256 threads per block, vectors of 1, 4 per thread

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
#define DEVICE static __device__ __forceinline__

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
  i32 x0_s0;
};

extern "C" __global__ void __launch_bounds__(256, 4) kiln_flat_sub_sqrt(const __grid_constant__ Arguments a) {
  const u32 i = blockIdx.x * 1024u + threadIdx.x;
  if (i >= a.n0) return;
  float x0[4][1];
  float x1[4][1];
  float y0[4][1];
#pragma unroll
  for (int u = 0; u < 4; ++u) {
    const u32 j = i + u * 256u;
    const u32 count = j < a.n0 ? a.n0 - j : 0;
    gather(x0[u], a.x0 + i32(j) * a.x0_s0, a.x0_s0, count);
    gather(x1[u], a.x1 + j, 1, count);
  }
#pragma unroll
  for (int u = 0; u < 4; ++u) {
    const float v0 = sqrtf(x0[u][0]);
    const float v1 = v0 - x1[u][0];
    y0[u][0] = v1;
  }
#pragma unroll
  for (int u = 0; u < 4; ++u) {
    const u32 j = i + u * 256u;
    const u32 count = j < a.n0 ? a.n0 - j : 0;
    scatter(a.y0 + j, y0[u], 1, count);
  }
}
