// mean(x), var(x)
// schedule: rows, 512 threads per block, 512 per row, 8 vectors of 4 per step, blocks share a row, no partial step

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

DEVICE float reciprocal_approximate(float x) {  // 1 ulp
#if __CUDA_ARCH__ >= 800
  float y; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y;
#else
  return __frcp_rn(x);
#endif
}

template <class Float>
DEVICE Float add_low(Float sum, Float low) {  // not finite: the sum overflowed or met inf or NaN, and stands for itself
  return low != Float(0) && low - low == Float(0) ? sum + low : sum;
}

// a + b; what rounding lost is added to low, if b is not larger than a. Where it is, at most one rounding of the sum is
// lost, and the sum has doubled.
DEVICE float add_smaller(float a, float b, float& low) {
  const float sum = a + b;
  low += b - (sum - a);
  return sum;
}

// n elements, their mean, and the sum of their squared deviations from it. Nothing overflows that is multiplied by the
// 0 of an empty state.
DEVICE void join_deviations(float& n, float& mean, float& sum, float n0, float mean0, float sum0, float n1, float mean1,
                            float sum1) {
  n = n0 + n1;
  const float share = n1 * reciprocal_approximate(n < 1.0f ? 1.0f : n), difference = mean1 - mean0;
  mean = fmaf(difference, share, mean0);
  sum = fmaf(difference * (n0 * share), difference, sum0 + sum1);
}

// The same where n0 grows from batch to batch: what rounding loses of the mean and of the sum is kept, so that a mean
// which moves by less than its last place still moves.
DEVICE void accumulate_deviations(float& n, float& mean, float& sum, float& mean_low, float& sum_low, float n1,
                                  float mean1, float sum1) {
  const float n0 = n;
  n = n0 + n1;
  const float share = n1 * reciprocal_approximate(n < 1.0f ? 1.0f : n), difference = mean1 - mean - mean_low;
  mean = add_smaller(mean, __fmul_rn(difference, share), mean_low);
  sum = add_smaller(sum, fmaf(difference * (n0 * share), difference, sum1), sum_low);
}

template <int N>  // the joint state is left in n[0], mean[0] and sum[0]; without division where every n is known
DEVICE void tree_deviations(float (&n)[N], float (&mean)[N], float (&sum)[N]) {
  if (N == 1) return;
  float count[N], shift[N];
#pragma unroll
  for (int k = 0; k < N; ++k) count[k] = n[k];
#pragma unroll
  for (int w = 1; w < N; w *= 2)
#pragma unroll
    for (int k = 0; k + w < N; k += 2 * w) count[k] += count[k + w], sum[k] += sum[k + w];
  const float part = 1.0f / (count[0] < 1.0f ? 1.0f : count[0]), origin = mean[0], low = __fmul_rn(origin, part);
#pragma unroll
  for (int k = 0; k < N; ++k) shift[k] = (__fmul_rn(mean[k], part) - low) * n[k];  // 0 where all are equal
#pragma unroll
  for (int w = 1; w < N; w *= 2)
#pragma unroll
    for (int k = 0; k + w < N; k += 2 * w) shift[k] += shift[k + w];
  const float joint = origin + shift[0];
#pragma unroll
  for (int k = 0; k < N; ++k) sum[0] = fmaf((mean[k] - joint) * n[k], mean[k] - joint, sum[0]);
  n[0] = count[0], mean[0] = joint;
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

template <class State>
DEVICE State load_state(const State* from) {  // written by another block: not through the cache of this one
  union { State state; u32 word[sizeof(State) / 4]; } all;
#pragma unroll
  for (int w = 0; w < int(sizeof(State) / 4); ++w) all.word[w] = __ldcg(reinterpret_cast<const u32*>(from) + w);
  return all.state;
}

template <int Warps, class State>  // all blocks along grid x, in their order; true in the block that arrives last
DEVICE bool join_blocks(State& s, const State& identity, State* partial, u32* counter, State (&shared)[Warps]) {
  __shared__ u32 arrived;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s;
    __threadfence();
    arrived = atomicInc(counter, gridDim.x - 1);  // zero again after the last one
  }
  __syncthreads();
  if (arrived != gridDim.x - 1) return false;
  __threadfence();
  s = identity;
  for (u32 first = threadIdx.x; first < gridDim.x; first += 128 * Warps) {
    State batch[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const u32 block = first + k * 32 * Warps;
      batch[k] = block < gridDim.x ? load_state(partial + block) : identity;
    }
    s = join(s, tree(batch));
  }
  s = join_block<Warps, false>(s, shared);
  return true;
}

struct alignas(8) State0 {
  static constexpr bool symmetric = false;
  float s0_0;
  float s0_1;
  float s0_2;
  u32 unused0;
};
DEVICE State0 join(const State0& a, const State0& b) {
  State0 r = State0();
  join_deviations(r.s0_0, r.s0_1, r.s0_2, a.s0_0, a.s0_1, a.s0_2, b.s0_0, b.s0_1, b.s0_2);
  return r;
}
DEVICE State0 shuffle(const State0& s, int mask) {
  State0 r = State0();
  r.s0_0 = __shfl_xor_sync(~0u, s.s0_0, mask);
  r.s0_1 = __shfl_xor_sync(~0u, s.s0_1, mask);
  r.s0_2 = __shfl_xor_sync(~0u, s.s0_2, mask);
  return r;
}
DEVICE void accumulate(State0& s, State0& low, const State0& batch) {
  State0 r = s;
  accumulate_deviations(r.s0_0, r.s0_1, r.s0_2, low.s0_1, low.s0_2, batch.s0_0,
      batch.s0_1, batch.s0_2);
  s = r;
}
DEVICE State0 total(const State0& s, const State0& low) {
  State0 r = s;
  r.s0_1 = add_low(s.s0_1, low.s0_1);
  r.s0_2 = add_low(s.s0_2, low.s0_2);
  return r;
}
template <int N>
DEVICE State0 tree(State0 (&s)[N]) {
  float c0_0[N], c0_1[N], c0_2[N];
#pragma unroll
  for (int k = 0; k < N; ++k) c0_0[k] = s[k].s0_0, c0_1[k] = s[k].s0_1, c0_2[k] = s[k].s0_2;
  tree_deviations(c0_0, c0_1, c0_2);
  State0 t = tree<State0, N>(s);
  t.s0_0 = c0_0[0], t.s0_1 = c0_1[0], t.s0_2 = c0_2[0];
  return t;
}

struct Arguments {
  const float* x0;
  float* y0;
  float* y1;
  u8* workspace;
  u32* counters;
  u32 n0;
  u32 n1;
  i32 x0_s0;
  Divisor d1;
};

extern "C" __global__ void __launch_bounds__(512, 2) kiln_row_div_deviations(const __grid_constant__ Arguments a) {
  const u32 lane = threadIdx.x;
  __shared__ State0 shared0[16];
  const u32 row = blockIdx.y;
  const u32 c0 = row;
  const float* const x0_row = a.x0 + (i32(c0) * a.x0_s0);
  float* const y0_row = a.y0 + (i32(c0));
  float* const y1_row = a.y1 + (i32(c0));
  const State0 identity0 = State0{0.0f, 0.0f, 0.0f, 0};
  State0 s0 = identity0;
  State0 low0 = State0();
  {
    u32 first = (blockIdx.x * 16384u);
    for (; first + 16384u <= a.n1; first += (gridDim.x * 16384u)) {
      float x0[8][4];
#pragma unroll
      for (int u = 0; u < 8; ++u) {
        const u32 j = first + (u * 512u + lane) * 4u;
        read<4>(x0[u], x0_row + j);
      }
      State0 t0[8];
#pragma unroll
      for (int u = 0; u < 8; ++u) {
        State0 e[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          e[k] = State0{1.0f, x0[u][k], __uint_as_float(0x80000000u), 0};
        }
        t0[u] = tree(e);
      }
      accumulate(s0, low0, tree(t0));
    }
  }
  s0 = total(s0, low0);
  s0 = join_block<16, false>(s0, shared0);
  if (!join_blocks<16>(s0, identity0, reinterpret_cast<State0*>(a.workspace) + row * gridDim.x, a.counters + row, shared0)) return;
  if (lane == 0) {
    const float v0 = s0.s0_2 / s0.s0_0;
    *(y0_row) = s0.s0_1;
    *(y1_row) = v0;
  }
}
