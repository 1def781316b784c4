// logsumexp(x)
// schedule: rows, 1024 threads per block, 1024 per row, 4 vectors of 8 per step, no partial vector

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

struct Divisor { u32 multiplier, shift; };

DEVICE float exp2_approximate(float x) {  // 2 ulp, results below 2^-126 are 0
#if __CUDA_ARCH__ >= 800
  float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y;
#else
  return exp2f(x);
#endif
}

DEVICE float maximum_f32(float a, float b) {  // NaN propagates, -0 < +0
#if __CUDA_ARCH__ >= 800
  float y; asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y;
#else
  return a != a || b != b ? a + b : fmaxf(a, b);
#endif
}

template <class Float>
DEVICE Float add_low(Float sum, Float low) {  // not finite: the sum overflowed or met inf or NaN, and stands for itself
  return low != Float(0) && low - low == Float(0) ? sum + low : sum;
}

DEVICE float exponential_base(float m) {  // what exponents are taken relative to: m, and never inf - inf
  return fabsf(m) <= 3.402823466e+38f || m != m ? m : 0.0f;
}

DEVICE void join_logsumexp(float& m, float& e, float m0, float e0, float m1, float e1) {  // e is a sum of exp(x - m)
  m = maximum_f32(m0, m1);
  const float below = m0 == m1 ? 0.0f : -fabsf(m0 - m1);  // never inf - inf
  const bool left = m0 >= m1;
  e = fmaf(left ? e1 : e0, exp2_approximate(below * 0x1.715476p+0f), left ? e0 : e1);
}

DEVICE float raised_base(float base, float m) {  // follows m only where that is above it by more than 1
  return m > base + 1.0f ? m : base;
}

// a + b; what rounding lost is added to low, if b is not larger than a. Where it is, at most one rounding of the sum is
// lost, and the sum has doubled.
DEVICE float add_smaller(float a, float b, float& low) {
  const float sum = a + b;
  low += b - (sum - a);
  return sum;
}

// To e, a sum of exp(x - base), and low, what rounding lost of it, another sum of exp(x - next). No number of small
// steps of the maximum adds up roundings of e: each change of the base divides it by more than e.
DEVICE void add_exponentials(float& e, float& low, float& base, float next, float sum) {
  if (base != next) {
    const float scale = exp2_approximate((base - next) * 0x1.715476p+0f);
    e *= scale, low *= scale, base = next;
  }
  e = add_smaller(e, sum, low);
}

DEVICE float total_logsumexp(float m, float e, float base, float low) {  // the sum of exp(x - m)
  return add_low(e, low) * (base == m ? 1.0f : exp2_approximate((base - m) * 0x1.715476p+0f));
}

template <int N>
DEVICE void tree_logsumexp(float (&m)[N], float (&e)[N]) {  // the joint m and e are left in m[0] and e[0]
  float highest[N];
#pragma unroll
  for (int k = 0; k < N; ++k) highest[k] = m[k];
#pragma unroll
  for (int w = 1; w < N; w *= 2)
#pragma unroll
    for (int k = 0; k + w < N; k += 2 * w) highest[k] = maximum_f32(highest[k], highest[k + w]);
  const float base = exponential_base(highest[0]);
#pragma unroll
  for (int k = 0; k < N; ++k) e[k] *= exp2_approximate((m[k] - base) * 0x1.715476p+0f);
#pragma unroll
  for (int w = 1; w < N; w *= 2)
#pragma unroll
    for (int k = 0; k + w < N; k += 2 * w) e[k] += e[k + w];
  m[0] = highest[0];
}

template <int Width, int N, class T>
DEVICE void read_if(T (&to)[N], const T* from, bool inside) {  // zeros where it is not
  union Piece { typename Word<Width * sizeof(T)>::type word; T at[Width]; };
#pragma unroll
  for (int n = 0; n < N; n += Width) {
    Piece piece;
    piece.word = typename Word<Width * sizeof(T)>::type();
    if (inside) piece.word = *reinterpret_cast<const typename Word<Width * sizeof(T)>::type*>(from + n);
#pragma unroll
    for (int k = 0; k < Width; ++k) to[n + k] = piece.at[k];
  }
}

template <int N>  // half k; `one` is 1, but where the compiler cannot know it, the value is not kept from an earlier use
DEVICE float bf16_of(const u32 (&words)[N], int k, u32 one) {
  return __uint_as_float(k % 2 ? words[k / 2] & (0xfffeffffu + one) : words[k / 2] * (65535u + one));
}

DEVICE u32 maximum_bf16x2(u32 a, u32 b) {  // of both halves; NaN propagates, -0 < +0
#if __CUDA_ARCH__ >= 800
  u32 y; asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b)); return y;
#else
  const float low = maximum_f32(__uint_as_float(a << 16), __uint_as_float(b << 16));
  const float high = maximum_f32(__uint_as_float(a & 0xffff0000u), __uint_as_float(b & 0xffff0000u));
  return __float_as_uint(low) >> 16 | (__float_as_uint(high) & 0xffff0000u);
#endif
}

template <int N>
DEVICE float maximum_of_bf16(const u32 (&words)[N]) {
  u32 m[1] = {words[0]};
#pragma unroll
  for (int k = 1; k < N; ++k) m[0] = maximum_bf16x2(m[0], words[k]);
  return maximum_f32(bf16_of(m, 0, 1u), bf16_of(m, 1, 1u));
}

template <int N>
DEVICE float sum_of(float (&e)[N]) {
#pragma unroll
  for (int w = 1; w < N; w *= 2)
#pragma unroll
    for (int k = 0; k + w < N; k += 2 * w) e[k] += e[k + w];
  return e[0];
}

template <class State, int N>
DEVICE State tree(State (&s)[N]) {
#pragma unroll
  for (int w = 1; w < N; w *= 2)
#pragma unroll
    for (int k = 0; k + w < N; k += 2 * w) s[k] = join(s[k], s[k + w]);
  return s[0];
}

template <int Lanes, class State>
DEVICE State join_lanes(State s) {  // over aligned groups of lanes; each gets the same result, joined in their order
#pragma unroll
  for (int mask = 1; mask < Lanes; mask *= 2) {
    const State other = shuffle(s, mask);
    if constexpr (State::symmetric) {  // join(a, b) is join(b, a) to the bit
      s = join(s, other);
    } else {
      const bool upper = threadIdx.x & mask;
      s = join(upper ? other : s, upper ? s : other);
    }
  }
  return s;
}

template <int Warps, bool Everywhere = true, class State>  // or in the first warp only
DEVICE State join_block(State s, State (&shared)[Warps]) {  // one barrier; `shared` is used once
  s = join_lanes<32>(s);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = s;
  __syncthreads();
  if (!Everywhere && threadIdx.x >= 32) return s;
  // All of them, or three or five at a time where their number is no power of two, or one for each lane.
  constexpr int At_once = Warps <= 8 ? Warps : Warps % 3 == 0 ? 3 : Warps % 5 == 0 ? 5 : 1;
  if constexpr (At_once == 1) {
    return join_lanes<Warps>(shared[threadIdx.x % Warps]);
  } else {
    State some[At_once];
#pragma unroll
    for (int w = 0; w < At_once; ++w) some[w] = shared[threadIdx.x % (Warps / At_once) * At_once + w];
    return join_lanes<Warps / At_once>(tree(some));
  }
}

struct alignas(8) State0 {
  static constexpr bool symmetric = true;
  float s0_0;
  float s0_1;
};
DEVICE State0 join(const State0& a, const State0& b) {
  State0 r = State0();
  join_logsumexp(r.s0_0, r.s0_1, a.s0_0, a.s0_1, b.s0_0, b.s0_1);
  return r;
}
DEVICE State0 shuffle(const State0& s, int mask) {
  State0 r = State0();
  r.s0_0 = __shfl_xor_sync(~0u, s.s0_0, mask);
  r.s0_1 = __shfl_xor_sync(~0u, s.s0_1, mask);
  return r;
}
DEVICE State0 total(const State0& s, const State0& low) {
  State0 r = s;
  r.s0_1 = total_logsumexp(s.s0_0, s.s0_1, low.s0_0, low.s0_1);
  return r;
}
template <int N>
DEVICE State0 tree(State0 (&s)[N]) {
  float c0_0[N], c0_1[N];
#pragma unroll
  for (int k = 0; k < N; ++k) c0_0[k] = s[k].s0_0, c0_1[k] = s[k].s0_1;
  tree_logsumexp(c0_0, c0_1);
  State0 t = tree<State0, N>(s);
  t.s0_0 = c0_0[0], t.s0_1 = c0_1[0];
  return t;
}

struct Arguments {
  const u16* x0;
  float* y0;
  u8* workspace;
  u32* counters;
  u32 n0;
  u32 n1;
  i32 x0_s0;
  Divisor d1;
};

extern "C" __global__ void __launch_bounds__(1024, 2) kiln_row_add_log_logsumexp(const __grid_constant__ Arguments a) {
  const u32 lane = threadIdx.x;
  __shared__ State0 shared0[32];
  const u32 c0 = blockIdx.x;
  const u16* const x0_row = a.x0 + (i32(c0) * a.x0_s0);
  float* const y0_row = a.y0 + (i32(c0));
  const State0 identity0 = State0{__uint_as_float(0xff800000u), 0.0f};
  State0 s0 = identity0;
  State0 low0 = State0{__uint_as_float(0xff800000u), 0.0f};
  {
    u32 first = (0);
    for (; first + 32768u <= a.n1; first += (32768u)) {
      u32 x0[4][4];
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        const u32 j = first + (u * 1024u + lane) * 8u;
        read<4>(x0[u], reinterpret_cast<const u32*>(x0_row + j));
      }
      float highest = s0.s0_0;
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        highest = maximum_f32(highest, maximum_of_bf16(x0[u]));
      }
      const float next = raised_base(low0.s0_0, highest);
      const float base = exponential_base(next);
      float sums[4];
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        float e[8];
#pragma unroll
        for (int k = 0; k < 8; ++k) {
          const float v0 = bf16_of(x0[u], k, blockDim.z);
          e[k] = exp2_approximate((v0 - base) * 0x1.715476p+0f);
        }
        sums[u] = sum_of(e);
      }
      add_exponentials(s0.s0_1, low0.s0_1, low0.s0_0, next, sum_of(sums));
      s0.s0_0 = highest;
    }
    if (first < a.n1) {
      u32 x0[4][4];
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        const u32 j = first + (u * 1024u + lane) * 8u;
        read_if<4>(x0[u], reinterpret_cast<const u32*>(x0_row + j), j < a.n1);
      }
      float highest = s0.s0_0;
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        const u32 j = first + (u * 1024u + lane) * 8u;
        if (j < a.n1) highest = maximum_f32(highest, maximum_of_bf16(x0[u]));
      }
      const float next = raised_base(low0.s0_0, highest);
      const float base = exponential_base(next);
      float sums[4];
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        const u32 j = first + (u * 1024u + lane) * 8u;
        float e[8];
#pragma unroll
        for (int k = 0; k < 8; ++k) {
          const float v0 = bf16_of(x0[u], k, blockDim.z);
          e[k] = exp2_approximate((v0 - base) * 0x1.715476p+0f);
        }
        sums[u] = sum_of(e);
        if (j >= a.n1) sums[u] = 0.0f;
      }
      add_exponentials(s0.s0_1, low0.s0_1, low0.s0_0, next, sum_of(sums));
      s0.s0_0 = highest;
    }
  }
  s0 = total(s0, low0);
  s0 = join_block<32, false>(s0, shared0);
  if (lane == 0) {
    const float v1 = logf(s0.s0_1);
    const float v2 = s0.s0_0 + v1;
    *(y0_row) = v2;
  }
}
