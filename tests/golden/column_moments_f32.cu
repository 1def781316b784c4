// mean(x), var(x)
// schedule: columns, 256 threads per block, vectors of 4, 8 rows at a time, rows shared by blocks

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

template <class State>
DEVICE State load_state(const State* from) {  // written by another block: not through the cache of this one
  union { State state; u32 word[sizeof(State) / 4]; } all;
#pragma unroll
  for (int w = 0; w < int(sizeof(State) / 4); ++w) all.word[w] = __ldcg(reinterpret_cast<const u32*>(from) + w);
  return all.state;
}

template <int Threads, class State, int N>
DEVICE void join_rows(State (&s)[N]) {  // over threadIdx.y, in a fixed order; the result is that of row 0 of the block
  __shared__ State shared[N][Threads / 2];
  for (u32 n = blockDim.y, half; n > 1; n = half) {
    half = (n + 1) / 2;
    __syncthreads();
    if (threadIdx.y >= half && threadIdx.y < n) {
#pragma unroll
      for (int k = 0; k < N; ++k) shared[k][(threadIdx.y - half) * blockDim.x + threadIdx.x] = s[k];
    }
    __syncthreads();
    if (threadIdx.y + half < n) {
#pragma unroll
      for (int k = 0; k < N; ++k) s[k] = join(s[k], shared[k][threadIdx.y * blockDim.x + threadIdx.x]);
    }
  }
}

DEVICE bool arrives_last(u32* counter) {  // among the blocks along grid y, all of whose writes are then visible
  __shared__ u32 arrived;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) arrived = atomicInc(counter, gridDim.y - 1);  // zero again after the last
  __syncthreads();
  __threadfence();
  return arrived == gridDim.y - 1;
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
  i32 x0_s1;
  Divisor d1;
};

extern "C" __global__ void __launch_bounds__(256, 2) kiln_column_div_deviations(const __grid_constant__ Arguments a) {
  const u32 kept = a.n0;
  const u32 start = (blockIdx.x * blockDim.x + threadIdx.x) * 4u;
  const bool inside = start < kept;
  const u32 i = inside ? start : 0;
  const u32 c0 = i;
  const float* const x0_column = a.x0 + (i32(c0));
  float* const y0_column = a.y0 + (i32(c0));
  float* const y1_column = a.y1 + (i32(c0));
  const u32 rows = a.n1, share = rows / gridDim.y, rest = rows % gridDim.y;
  const u32 begin = blockIdx.y * share + (blockIdx.y < rest ? blockIdx.y : rest);
  const u32 last = begin + share + (blockIdx.y < rest ? 1 : 0);
  const u32 first = begin + threadIdx.y;
  State0 s0[4], low0[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    s0[k] = State0{0.0f, 0.0f, 0.0f, 0}, low0[k] = State0();
  }
  {
    u32 row = first;
#pragma unroll
    for (int tail = 0; tail < 2; ++tail) {
      for (; tail ? row < last : row + 7u * blockDim.y < last; row += 8u * blockDim.y) {
        float x0[8][4];
#pragma unroll
        for (int u = 0; u < 8; ++u) {
          const u32 at = row + u * blockDim.y;
          const u32 c1 = tail && at >= last ? last - 1 : at;
          read<4>(x0[u], x0_column + i32(c1) * a.x0_s1);
        }
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          State0 batch[8];
#pragma unroll
          for (int u = 0; u < 8; ++u) {
            batch[u] = !tail || row + u * blockDim.y < last ? State0{1.0f, x0[u][k], __uint_as_float(0x80000000u), 0} : State0{0.0f, 0.0f, 0.0f, 0};
          }
          accumulate(s0[k], low0[k], tree(batch));
        }
      }
    }
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    s0[k] = total(s0[k], low0[k]);
  }
  join_rows<256>(s0);
  State0* const partial = reinterpret_cast<State0*>(a.workspace) + i;
  if (threadIdx.y == 0 && inside) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      partial[u64(blockIdx.y) * kept + k] = s0[k];
    }
  }
  if (!arrives_last(a.counters + blockIdx.x)) return;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    s0[k] = State0{0.0f, 0.0f, 0.0f, 0};
  }
  for (u32 part = threadIdx.y; part < gridDim.y; part += 4u * blockDim.y) {
    State0 from[4][4];
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      const u32 p = part + u * blockDim.y;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        from[k][u] = p < gridDim.y ? load_state(partial + u64(p) * kept + k) : State0{0.0f, 0.0f, 0.0f, 0};
      }
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      s0[k] = join(s0[k], tree(from[k]));
    }
  }
  join_rows<256>(s0);
  if (threadIdx.y > 0 || !inside) return;
  float v0[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    v0[k] = s0[k].s0_2 / s0[k].s0_0;
  }
  float y0[4];
  float y1[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    y0[k] = s0[k].s0_1;
    y1[k] = v0[k];
  }
  write<1>(y0_column, y0);
  write<1>(y1_column, y1);
}
