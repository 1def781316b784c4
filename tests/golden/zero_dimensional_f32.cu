// y = exp(x) + s0
// schedule: flat, 32 threads per block, vectors of 1

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
#define DEVICE static __device__ __forceinline__

struct Arguments {
  const float* x0;
  float* y0;
  float s0;
};

extern "C" __global__ void __launch_bounds__(32) kiln_flat_add_exp(const __grid_constant__ Arguments a) {
  const float x0 = *a.x0;
  float y0[1];
  const float v0 = expf(x0);
  const float v1 = v0 + a.s0;
  y0[0] = v1;
  *a.y0 = y0[0];
}
