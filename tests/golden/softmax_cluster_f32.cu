// e / sum(e), e = exp(x - max(x))
// schedule: rows, 1024 threads per block, 16384 per row, 16 vectors of 4 held, the next row read ahead, no partial step

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

struct Divisor { u32 multiplier, shift; };

DEVICE float exp2_approximate(float x) {  // 2 ulp, results below 2^-126 are 0
#if __CUDA_ARCH__ >= 800
  float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y;
#else
  return exp2f(x);
#endif
}

DEVICE float minimum_f32(float a, float b) {  // NaN propagates, -0 < +0
#if __CUDA_ARCH__ >= 800
  float y; asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y;
#else
  return a != a || b != b ? a + b : fminf(a, b);
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

struct Ratio { float divisor, reciprocal; bool plain; };
DEVICE Ratio ratio(float divisor) {
  return {divisor, __frcp_rn(divisor), divisor >= 0x1p-60f && divisor <= 0x1p+60f};
}

// Rounded like a division where nothing comes near the ends of the range: the remainder of the first quotient is exact.
DEVICE float divided(float a, const Ratio& by) {
  const float q = a * by.reciprocal;
  return fmaf(fmaf(-q, by.divisor, a), by.reciprocal, q);
}

DEVICE float exp_below(float x) {  // x <= 0 or NaN: within 4 ulp, and 0 below 2^-126
  const float y = maximum_f32(x, -105.0f), t = y * 0x1.715476p+0f, e = exp2_approximate(t);
  return fmaf(e, fmaf(t, -0x1.62e43p-1f, y), e);  // what rounding t lost
}

DEVICE bool term_is_plain(float x) { return x >= -0x1.4cp+5f || x < -150.0f; }  // exp(x) is about 2^-60, or 0

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

#if __CUDA_ARCH__ >= 900
DEVICE u32 cluster_rank() { u32 r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
#endif

#if __CUDA_ARCH__ >= 900
DEVICE u8* shared_memory() { extern __shared__ uint4 dynamic_shared[]; return reinterpret_cast<u8*>(dynamic_shared); }
#endif

#if __CUDA_ARCH__ >= 900
template <class Word>
DEVICE void copy_async(Word& to, const void* from, bool inside) {  // to shared memory; zeros where it is not inside
  const u32 address = u32(__cvta_generic_to_shared(&to)), bytes = inside ? sizeof(Word) : 0;
  if constexpr (sizeof(Word) == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(sizeof(Word)), "r"(bytes) : "memory");
}
#endif

#if __CUDA_ARCH__ >= 900
DEVICE void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Groups>
DEVICE void copy_wait_group() {  // until so many groups of copies or less are on their way
  asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
}
#endif

#if __CUDA_ARCH__ >= 900
DEVICE u32 shared_address(const void* at) { return u32(__cvta_generic_to_shared(at)); }
template <int N>
DEVICE void cluster_start(u64 (&arrivals)[N]) {  // counters of what other blocks of the cluster send
  if (threadIdx.x == 0) {
#pragma unroll
    for (int n = 0; n < N; ++n)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(arrivals + n)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
DEVICE void cluster_started() { asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); }
#endif

#if __CUDA_ARCH__ >= 900
DEVICE u32 remote_address(const void* at, u32 rank) {  // of the same place in another block of the cluster
  u32 there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(at)), "r"(rank));
  return there;
}
template <class State>
DEVICE void send_state(State& to, u64& arrival, u32 rank, const State& from) {  // `arrival` counts the bytes there
  union { State state; u32 word[sizeof(State) / 4]; } all;
  all.state = from;
  const u32 address = remote_address(&to, rank), counter = remote_address(&arrival, rank);
#pragma unroll
  for (int w = 0; w < int(sizeof(State) / 4); ++w) {
#if __CUDACC_VER_MAJOR__ > 12 || __CUDACC_VER_MINOR__ > 0
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];"
                 ::"r"(address + 4 * w), "r"(all.word[w]), "r"(counter) : "memory");
#else
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address + 4 * w), "r"(all.word[w]) : "memory");
#endif
  }
}
// Until `bytes` have come. Fences, as of a barrier of the cluster, would also wait for what was written to global memory
// and empty the L1 cache.
DEVICE void await_states(u64& arrival, u32 parity, u32 bytes) {
#if __CUDACC_VER_MAJOR__ > 12 || __CUDACC_VER_MINOR__ > 0
  const u32 counter = shared_address(&arrival);
  if (threadIdx.x == 0)
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(counter), "r"(bytes) : "memory");
  u32 come = threadIdx.x >= 32;  // one warp asks, the others wait for it at a barrier
  while (!come)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(come) : "r"(counter), "r"(parity) : "memory");
#else
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}
#endif
template <int Blocks, class State>
DEVICE State join_cluster(const State& s, State (&blocks)[Blocks], u64& arrival, u32 parity) {
  if (threadIdx.x < Blocks) send_state(blocks[cluster_rank()], arrival, threadIdx.x, s);
  await_states(arrival, parity, u32(sizeof(blocks)));
  __syncthreads();
  return join_lanes<Blocks>(blocks[threadIdx.x % Blocks]);
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

struct alignas(16) Shared {
  u64 arrivals[2];
  State0 shared0[32], blocks0[2][16];
  Word<16>::type x0[13][1024];
};

struct Arguments {
  const float* x0;
  float* y0;
  u8* workspace;
  u32* counters;
  u32 n0;
  u32 n1;
  i32 x0_s0;
  i32 y0_s0;
  Divisor d1;
};

extern "C" __global__ void __launch_bounds__(1024, 1) kiln_row_div_add_sub_exp(const __grid_constant__ Arguments a) {
  const u32 lane = cluster_rank() * 1024u + threadIdx.x;
  Shared& shared = *reinterpret_cast<Shared*>(shared_memory());
  cluster_start(shared.arrivals);
  float x0[3][4];
  const u32 rows = a.n0, step = gridDim.x / 16u;
  {
    const u32 c0 = blockIdx.x / 16u;
    const float* const x0_row = a.x0 + (i32(c0) * a.x0_s0);
#pragma unroll 4
    for (int u = 0; u < 13; ++u) {
      const u32 j = (u * 16384u + lane) * 4u;
      copy_async(shared.x0[u][threadIdx.x], x0_row + j, true);
      if (u % 4 == 3 || u == 12) copy_commit();
    }
#pragma unroll
    for (int u = 13; u < 16; ++u) {
      const u32 j = (u * 16384u + lane) * 4u;
      read<4>(x0[u - 13], x0_row + j);
    }
  }
  cluster_started();  // every block may be written to
  u32 turn = 0;
  for (u32 at = blockIdx.x / 16u; at < rows; at += step, ++turn) {
    const bool more = at + step < rows;
    const u32 next = more ? at + step : at;
    const u32 c0 = next;
    const float* const x0_row = a.x0 + (i32(c0) * a.x0_s0);
    {
      const u32 c0 = at;
      float* const y0_row = a.y0 + (i32(c0) * a.y0_s0);
      const State0 identity0 = State0{__uint_as_float(0xff800000u), 0.0f};
      State0 s0 = identity0;
      State0 low0 = State0{__uint_as_float(0xff800000u), 0.0f};
      copy_wait_group<3>();
      {
        float highest = s0.s0_0;
#pragma unroll
        for (int u = 0; u < 4; ++u) {
          float x0[4];
          read<4>(x0, reinterpret_cast<const float*>(&shared.x0[u][threadIdx.x]));
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            highest = maximum_f32(highest, x0[k]);
          }
        }
        const float next = raised_base(low0.s0_0, highest);
        const float base = exponential_base(next);
        float sums[4];
#pragma unroll
        for (int u = 0; u < 4; ++u) {
          float x0[4];
          read<4>(x0, reinterpret_cast<const float*>(&shared.x0[u][threadIdx.x]));
          float e[4];
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            e[k] = exp2_approximate((x0[k] - base) * 0x1.715476p+0f);
          }
          sums[u] = sum_of(e);
        }
        add_exponentials(s0.s0_1, low0.s0_1, low0.s0_0, next, sum_of(sums));
        s0.s0_0 = highest;
      }
      copy_wait_group<2>();
      {
        float highest = s0.s0_0;
#pragma unroll
        for (int u = 4; u < 8; ++u) {
          float x0[4];
          read<4>(x0, reinterpret_cast<const float*>(&shared.x0[u][threadIdx.x]));
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            highest = maximum_f32(highest, x0[k]);
          }
        }
        const float next = raised_base(low0.s0_0, highest);
        const float base = exponential_base(next);
        float sums[4];
#pragma unroll
        for (int u = 4; u < 8; ++u) {
          float x0[4];
          read<4>(x0, reinterpret_cast<const float*>(&shared.x0[u][threadIdx.x]));
          float e[4];
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            e[k] = exp2_approximate((x0[k] - base) * 0x1.715476p+0f);
          }
          sums[u - 4] = sum_of(e);
        }
        add_exponentials(s0.s0_1, low0.s0_1, low0.s0_0, next, sum_of(sums));
        s0.s0_0 = highest;
      }
      copy_wait_group<1>();
      {
        float highest = s0.s0_0;
#pragma unroll
        for (int u = 8; u < 12; ++u) {
          float x0[4];
          read<4>(x0, reinterpret_cast<const float*>(&shared.x0[u][threadIdx.x]));
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            highest = maximum_f32(highest, x0[k]);
          }
        }
        const float next = raised_base(low0.s0_0, highest);
        const float base = exponential_base(next);
        float sums[4];
#pragma unroll
        for (int u = 8; u < 12; ++u) {
          float x0[4];
          read<4>(x0, reinterpret_cast<const float*>(&shared.x0[u][threadIdx.x]));
          float e[4];
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            e[k] = exp2_approximate((x0[k] - base) * 0x1.715476p+0f);
          }
          sums[u - 8] = sum_of(e);
        }
        add_exponentials(s0.s0_1, low0.s0_1, low0.s0_0, next, sum_of(sums));
        s0.s0_0 = highest;
      }
      copy_wait_group<0>();
      {
        float highest = s0.s0_0;
#pragma unroll
        for (int u = 12; u < 13; ++u) {
          float x0[4];
          read<4>(x0, reinterpret_cast<const float*>(&shared.x0[u][threadIdx.x]));
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            highest = maximum_f32(highest, x0[k]);
          }
        }
        const float next = raised_base(low0.s0_0, highest);
        const float base = exponential_base(next);
        float sums[1];
#pragma unroll
        for (int u = 12; u < 13; ++u) {
          float x0[4];
          read<4>(x0, reinterpret_cast<const float*>(&shared.x0[u][threadIdx.x]));
          float e[4];
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            e[k] = exp2_approximate((x0[k] - base) * 0x1.715476p+0f);
          }
          sums[u - 12] = sum_of(e);
        }
        add_exponentials(s0.s0_1, low0.s0_1, low0.s0_0, next, sum_of(sums));
        s0.s0_0 = highest;
      }
      {
        float highest = s0.s0_0;
#pragma unroll
        for (int u = 13; u < 16; ++u) {
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            highest = maximum_f32(highest, x0[u - 13][k]);
          }
        }
        const float next = raised_base(low0.s0_0, highest);
        const float base = exponential_base(next);
        float sums[3];
#pragma unroll
        for (int u = 13; u < 16; ++u) {
          float e[4];
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            e[k] = exp2_approximate((x0[u - 13][k] - base) * 0x1.715476p+0f);
          }
          sums[u - 13] = sum_of(e);
        }
        add_exponentials(s0.s0_1, low0.s0_1, low0.s0_0, next, sum_of(sums));
        s0.s0_0 = highest;
      }
      s0 = total(s0, low0);
      s0 = join_block<32, false>(s0, shared.shared0);
      s0 = join_cluster<16>(s0, shared.blocks0[turn % 2], shared.arrivals[0u + turn % 2], turn / 2 % 2);
      const float v2 = s0.s0_0 - s0.s0_0;
      const float v3 = s0.s0_1 + v2;
      const Ratio by0 = ratio(v3);
#pragma unroll
      for (int u = 13; u < 16; ++u) {
        const u32 j = (u * 16384u + lane) * 4u;
        float y0[4];
        bool plain = by0.plain;
        float lowest = 0.0f;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const float v0 = x0[u - 13][k] - s0.s0_0;
          const float v1 = exp_below(v0);
          const float v4 = divided(v1, by0);
          lowest = minimum_f32(lowest, v0);
          y0[k] = v4;
        }
        if (lowest < -0x1.4cp+5f) {
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            const float v0 = x0[u - 13][k] - s0.s0_0;
            plain &= term_is_plain(v0);
          }
        }
        if (!plain) {
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            const float v0 = x0[u - 13][k] - s0.s0_0;
            const float v1 = expf(v0);
            const float v4 = v1 / v3;
            y0[k] = v4;
          }
        }
        write<4>(y0_row + j, y0);
        if (more) {
          read<4>(x0[u - 13], x0_row + j);
        }
      }
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        const u32 j = (u * 16384u + lane) * 4u;
        float x0[4];
        read<4>(x0, reinterpret_cast<const float*>(&shared.x0[u][threadIdx.x]));
        float y0[4];
        bool plain = by0.plain;
        float lowest = 0.0f;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const float v0 = x0[k] - s0.s0_0;
          const float v1 = exp_below(v0);
          const float v4 = divided(v1, by0);
          lowest = minimum_f32(lowest, v0);
          y0[k] = v4;
        }
        if (lowest < -0x1.4cp+5f) {
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            const float v0 = x0[k] - s0.s0_0;
            plain &= term_is_plain(v0);
          }
        }
        if (!plain) {
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            const float v0 = x0[k] - s0.s0_0;
            const float v1 = expf(v0);
            const float v4 = v1 / v3;
            y0[k] = v4;
          }
        }
        write<4>(y0_row + j, y0);
      }
      if (more) {
#pragma unroll
        for (int u = 0; u < 4; ++u) {
          const u32 j = (u * 16384u + lane) * 4u;
          copy_async(shared.x0[u][threadIdx.x], x0_row + j, true);
        }
        copy_commit();
      }
#pragma unroll
      for (int u = 4; u < 8; ++u) {
        const u32 j = (u * 16384u + lane) * 4u;
        float x0[4];
        read<4>(x0, reinterpret_cast<const float*>(&shared.x0[u][threadIdx.x]));
        float y0[4];
        bool plain = by0.plain;
        float lowest = 0.0f;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const float v0 = x0[k] - s0.s0_0;
          const float v1 = exp_below(v0);
          const float v4 = divided(v1, by0);
          lowest = minimum_f32(lowest, v0);
          y0[k] = v4;
        }
        if (lowest < -0x1.4cp+5f) {
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            const float v0 = x0[k] - s0.s0_0;
            plain &= term_is_plain(v0);
          }
        }
        if (!plain) {
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            const float v0 = x0[k] - s0.s0_0;
            const float v1 = expf(v0);
            const float v4 = v1 / v3;
            y0[k] = v4;
          }
        }
        write<4>(y0_row + j, y0);
      }
      if (more) {
#pragma unroll
        for (int u = 4; u < 8; ++u) {
          const u32 j = (u * 16384u + lane) * 4u;
          copy_async(shared.x0[u][threadIdx.x], x0_row + j, true);
        }
        copy_commit();
      }
#pragma unroll
      for (int u = 8; u < 12; ++u) {
        const u32 j = (u * 16384u + lane) * 4u;
        float x0[4];
        read<4>(x0, reinterpret_cast<const float*>(&shared.x0[u][threadIdx.x]));
        float y0[4];
        bool plain = by0.plain;
        float lowest = 0.0f;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const float v0 = x0[k] - s0.s0_0;
          const float v1 = exp_below(v0);
          const float v4 = divided(v1, by0);
          lowest = minimum_f32(lowest, v0);
          y0[k] = v4;
        }
        if (lowest < -0x1.4cp+5f) {
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            const float v0 = x0[k] - s0.s0_0;
            plain &= term_is_plain(v0);
          }
        }
        if (!plain) {
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            const float v0 = x0[k] - s0.s0_0;
            const float v1 = expf(v0);
            const float v4 = v1 / v3;
            y0[k] = v4;
          }
        }
        write<4>(y0_row + j, y0);
      }
      if (more) {
#pragma unroll
        for (int u = 8; u < 12; ++u) {
          const u32 j = (u * 16384u + lane) * 4u;
          copy_async(shared.x0[u][threadIdx.x], x0_row + j, true);
        }
        copy_commit();
      }
#pragma unroll
      for (int u = 12; u < 13; ++u) {
        const u32 j = (u * 16384u + lane) * 4u;
        float x0[4];
        read<4>(x0, reinterpret_cast<const float*>(&shared.x0[u][threadIdx.x]));
        float y0[4];
        bool plain = by0.plain;
        float lowest = 0.0f;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const float v0 = x0[k] - s0.s0_0;
          const float v1 = exp_below(v0);
          const float v4 = divided(v1, by0);
          lowest = minimum_f32(lowest, v0);
          y0[k] = v4;
        }
        if (lowest < -0x1.4cp+5f) {
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            const float v0 = x0[k] - s0.s0_0;
            plain &= term_is_plain(v0);
          }
        }
        if (!plain) {
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            const float v0 = x0[k] - s0.s0_0;
            const float v1 = expf(v0);
            const float v4 = v1 / v3;
            y0[k] = v4;
          }
        }
        write<4>(y0_row + j, y0);
      }
      if (more) {
#pragma unroll
        for (int u = 12; u < 13; ++u) {
          const u32 j = (u * 16384u + lane) * 4u;
          copy_async(shared.x0[u][threadIdx.x], x0_row + j, true);
        }
        copy_commit();
      }
    }
  }
}
