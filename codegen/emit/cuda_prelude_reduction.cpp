// codegen/emit/cuda_prelude_reduction.cpp -- device functions of kernels with reduced axes. They work on the structs of
// states that the kernel declares, through the functions join and shuffle beside them.
#include <array>

#include "codegen/emit/cuda_prelude_table.h"

namespace kiln::codegen::cuda {
namespace {

constexpr std::array<Snippet, 36> table = {{
    {"read_if", "Word", R"(
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
)"},
    {"read_between", "", R"(
template <int N, class T, class Step, class Index>  // elements j, j + 1, ... of a row of n; zeros before and behind it
DEVICE void read_between(T (&to)[N], const T* row, Step stride, Index j, Index n) {
#pragma unroll
  for (int k = 0; k < N; ++k) {
    const Index at = j + k;  // before the row a number beyond any length
    to[k] = at < n ? row[Step(at) * stride] : T();
  }
}
)"},
    {"uneven_words", "Word", R"(
template <int Words>  // from any element of 2 bytes; reads what lies in the two aligned vectors that hold them
DEVICE void uneven_words(u32 (&to)[Words], const void* from) {
  typedef typename Word<4 * Words>::type Vector;
  const u64 address = reinterpret_cast<u64>(from);
  const Vector* at = reinterpret_cast<const Vector*>(address & ~u64(4 * Words - 1));
  union { Vector vector[2]; u32 word[2 * Words]; } all;
  all.vector[0] = at[0], all.vector[1] = at[1];
  const u32 skip = u32(address) % (4 * Words);
#pragma unroll
  for (int step = Words / 2; step > 0; step /= 2)
#pragma unroll
    for (int k = 0; k + step < 2 * Words; ++k) all.word[k] = skip / 4 & step ? all.word[k + step] : all.word[k];
#pragma unroll
  for (int k = 0; k < Words; ++k) to[k] = u32((u64(all.word[k + 1]) << 32 | all.word[k]) >> skip % 4 * 8);
}
template <int N, class T>
DEVICE void read_uneven(T (&to)[N], const T* from) {
  union { u32 word[N * sizeof(T) / 4]; T at[N]; } piece;
  uneven_words(piece.word, from);
#pragma unroll
  for (int k = 0; k < N; ++k) to[k] = piece.at[k];
}
)"},
    {"write_between", "", R"(
template <int N, class T, class Step, class Index>
DEVICE void write_between(T* row, const T (&from)[N], Step stride, Index j, Index n) {
#pragma unroll
  for (int k = 0; k < N; ++k) {
    const Index at = j + k;
    if (at < n) row[Step(at) * stride] = from[k];
  }
}
)"},
    {"keep_as_word", "", R"(
template <int N, class T, class Word>
DEVICE void keep_as_word(Word& to, const T (&from)[N]) {  // N values as one word of as many bytes
  union { Word word; T at[N]; } piece;
#pragma unroll
  for (int k = 0; k < N; ++k) piece.at[k] = from[k];
  to = piece.word;
}
)"},
    {"keep_between", "", R"(
template <int N, class T, class Index>  // of elements j, j + 1, ... those of a row of n
DEVICE void keep_between(T (&values)[N], const T& other, Index j, Index n) {
#pragma unroll
  for (int k = 0; k < N; ++k) if (Index(j + k) >= n) values[k] = other;
}
)"},
    {"place_in_vector", "", R"(
template <int Vector, class T>  // of the element at `from`, counted in elements
DEVICE u32 place_in_vector(const T* from) { return u32(reinterpret_cast<u64>(from) / sizeof(T)) % Vector; }
)"},
    {"pack", "", R"(
template <int N>
DEVICE void pack(u32 (&words)[N], const u16 (&halves)[2 * N]) {
#pragma unroll
  for (int k = 0; k < N; ++k) words[k] = halves[2 * k] | u32(halves[2 * k + 1]) << 16;
}
)"},
    {"half_of", "", R"(
template <int N>
DEVICE u16 half_of(const u32 (&words)[N], int k) { return u16(words[k / 2] >> k % 2 * 16); }
)"},
    {"bf16_of", "", R"(
template <int N>  // half k; `one` is 1, but where the compiler cannot know it, the value is not kept from an earlier use
DEVICE float bf16_of(const u32 (&words)[N], int k, u32 one) {
  return __uint_as_float(k % 2 ? words[k / 2] & (0xfffeffffu + one) : words[k / 2] * (65535u + one));
}
)"},
    {"f16_of", "f16_to_f32", R"(
template <int N>  // half k; `one` is 1, but where the compiler cannot know it, the value is not kept from an earlier use
DEVICE float f16_of(const u32 (&words)[N], int k, u32 one) {
  return f16_to_f32(u16((words[k / 2] + (one - 1)) >> k % 2 * 16));
}
)"},
    {"maximum_bf16x2", "maximum_f32", R"(
DEVICE u32 maximum_bf16x2(u32 a, u32 b) {  // of both halves; NaN propagates, -0 < +0
#if __CUDA_ARCH__ >= 800
  u32 y; asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b)); return y;
#else
  const float low = maximum_f32(__uint_as_float(a << 16), __uint_as_float(b << 16));
  const float high = maximum_f32(__uint_as_float(a & 0xffff0000u), __uint_as_float(b & 0xffff0000u));
  return __float_as_uint(low) >> 16 | (__float_as_uint(high) & 0xffff0000u);
#endif
}
)"},
    {"maximum_f16x2", "maximum_f32 f16_to_f32 f32_to_f16", R"(
DEVICE u32 maximum_f16x2(u32 a, u32 b) {  // of both halves; NaN propagates, -0 < +0
#if __CUDA_ARCH__ >= 800
  u32 y; asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b)); return y;
#else
  const float low = maximum_f32(f16_to_f32(u16(a)), f16_to_f32(u16(b)));
  const float high = maximum_f32(f16_to_f32(u16(a >> 16)), f16_to_f32(u16(b >> 16)));
  return f32_to_f16(low) | u32(f32_to_f16(high)) << 16;
#endif
}
)"},
    {"maximum_of_bf16", "maximum_bf16x2 bf16_of", R"(
template <int N>
DEVICE float maximum_of_bf16(const u32 (&words)[N]) {
  u32 m[1] = {words[0]};
#pragma unroll
  for (int k = 1; k < N; ++k) m[0] = maximum_bf16x2(m[0], words[k]);
  return maximum_f32(bf16_of(m, 0, 1u), bf16_of(m, 1, 1u));
}
)"},
    {"maximum_of_f16", "maximum_f16x2 f16_of", R"(
template <int N>
DEVICE float maximum_of_f16(const u32 (&words)[N]) {
  u32 m[1] = {words[0]};
#pragma unroll
  for (int k = 1; k < N; ++k) m[0] = maximum_f16x2(m[0], words[k]);
  return maximum_f32(f16_of(m, 0, 1u), f16_of(m, 1, 1u));
}
)"},
    {"ratio", "", R"(
struct Ratio { float divisor, reciprocal; bool plain; };
DEVICE Ratio ratio(float divisor) {
  return {divisor, __frcp_rn(divisor), divisor >= 0x1p-60f && divisor <= 0x1p+60f};
}
)"},
    {"divided", "ratio", R"(
// Rounded like a division where nothing comes near the ends of the range: the remainder of the first quotient is exact.
DEVICE float divided(float a, const Ratio& by) {
  const float q = a * by.reciprocal;
  return fmaf(fmaf(-q, by.divisor, a), by.reciprocal, q);
}
)"},
    {"quotient", "divided", R"(
DEVICE float quotient(float a, const Ratio& by, bool& plain) {  // a / by.divisor unless it makes plain false
  const u32 bits = __float_as_uint(a), magnitude = bits & 0x7fffffffu;
  plain &= (magnitude - 0x21800000u <= 0x3c000000u) | (bits == 0u);  // 2^-60 to 2^60, or +0
  return divided(a, by);
}
)"},
    {"exp_below", "exp2_approximate maximum_f32", R"(
DEVICE float exp_below(float x) {  // x <= 0 or NaN: within 4 ulp, and 0 below 2^-126
  const float y = maximum_f32(x, -105.0f), t = y * 0x1.715476p+0f, e = exp2_approximate(t);
  return fmaf(e, fmaf(t, -0x1.62e43p-1f, y), e);  // what rounding t lost
}
)"},
    {"exp_below_scaled", "exp2_approximate maximum_f32", R"(
DEVICE float exp_below_scaled(float x) {  // 2^8 exp(x), x <= 0 or NaN: 0 only where exp(x) rounds to 0 in bf16
  const float y = maximum_f32(x, -105.0f), t = fmaf(y, 0x1.715476p+0f, 8.0f), e = exp2_approximate(t);
  return fmaf(e, fmaf(t - 8.0f, -0x1.62e43p-1f, y), e);  // loses at most |x| / 2^24, as x - max may
}
)"},
    {"term_is_plain", "", R"(
DEVICE bool term_is_plain(float x) { return x >= -0x1.4cp+5f || x < -150.0f; }  // exp(x) is about 2^-60, or 0
)"},
    {"take", "", R"(
template <class T, int N>
DEVICE void take(T (&to)[N], const T (&from)[N]) {
#pragma unroll
  for (int k = 0; k < N; ++k) to[k] = from[k];
}
template <class T, int M, int N>
DEVICE void take(T (&to)[M][N], const T (&from)[M][N]) {
#pragma unroll
  for (int u = 0; u < M; ++u) take(to[u], from[u]);
}
)"},
    {"sum_of", "", R"(
template <int N>
DEVICE float sum_of(float (&e)[N]) {
#pragma unroll
  for (int w = 1; w < N; w *= 2)
#pragma unroll
    for (int k = 0; k + w < N; k += 2 * w) e[k] += e[k + w];
  return e[0];
}
)"},
    {"tree", "", R"(
template <class State, int N>
DEVICE State tree(State (&s)[N]) {
#pragma unroll
  for (int w = 1; w < N; w *= 2)
#pragma unroll
    for (int k = 0; k + w < N; k += 2 * w) s[k] = join(s[k], s[k + w]);
  return s[0];
}
)"},
    {"join_lanes", "", R"(
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
)"},
    {"join_block", "join_lanes tree", R"(
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
)"},
    {"cluster_rank", "", R"(
#if __CUDA_ARCH__ >= 900
DEVICE u32 cluster_rank() { u32 r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
#endif
)"},
    {"shared_memory", "", R"(
#if __CUDA_ARCH__ >= 900
DEVICE u8* shared_memory() { extern __shared__ uint4 dynamic_shared[]; return reinterpret_cast<u8*>(dynamic_shared); }
#endif
)"},
    {"copy_async", "", R"(
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
)"},
    {"copy_wait", "copy_async", R"(
#if __CUDA_ARCH__ >= 900
DEVICE void copy_wait() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#endif
)"},
    {"copy_commit", "copy_async", R"(
#if __CUDA_ARCH__ >= 900
DEVICE void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Groups>
DEVICE void copy_wait_group() {  // until so many groups of copies or less are on their way
  asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
}
#endif
)"},
    {"copy_wait_group", "copy_commit", ""},
    {"cluster_start", "", R"(
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
)"},
    {"join_cluster", "join_lanes cluster_rank cluster_start", R"(
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
)"},
    {"load_state", "", R"(
template <class State>
DEVICE State load_state(const State* from) {  // written by another block: not through the cache of this one
  union { State state; u32 word[sizeof(State) / 4]; } all;
#pragma unroll
  for (int w = 0; w < int(sizeof(State) / 4); ++w) all.word[w] = __ldcg(reinterpret_cast<const u32*>(from) + w);
  return all.state;
}
)"},
    {"join_blocks", "load_state tree join_block", R"(
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
)"},
}};

}  // namespace

std::span<const Snippet> reduction_snippets() { return table; }

}  // namespace kiln::codegen::cuda
