// codegen/emit/cuda_prelude_running.cpp -- device functions of states that grow: sums, sums of exponentials relative to
// a maximum and of squared deviations from a mean, each with what rounding lost.
#include <array>

#include "codegen/emit/cuda_prelude_table.h"

namespace kiln::codegen::cuda {
namespace {

constexpr std::array<Snippet, 13> table = {{
    {"two_sum", "", R"(
template <class Float>
DEVICE Float two_sum(Float a, Float b, Float& low) {  // a + b; what rounding lost is added to low
  const Float sum = a + b, part = sum - a;
  low += (a - (sum - part)) + (b - part);
  return sum;
}
)"},
    {"add_low", "", R"(
template <class Float>
DEVICE Float add_low(Float sum, Float low) {  // not finite: the sum overflowed or met inf or NaN, and stands for itself
  return low != Float(0) && low - low == Float(0) ? sum + low : sum;
}
)"},
    {"exponential_base", "", R"(
DEVICE float exponential_base(float m) {  // what exponents are taken relative to: m, and never inf - inf
  return fabsf(m) <= 3.402823466e+38f || m != m ? m : 0.0f;
}
)"},
    {"join_logsumexp", "exp2_approximate maximum_f32", R"(
DEVICE void join_logsumexp(float& m, float& e, float m0, float e0, float m1, float e1) {  // e is a sum of exp(x - m)
  m = maximum_f32(m0, m1);
  const float below = m0 == m1 ? 0.0f : -fabsf(m0 - m1);  // never inf - inf
  const bool left = m0 >= m1;
  e = fmaf(left ? e1 : e0, exp2_approximate(below * 0x1.715476p+0f), left ? e0 : e1);
}
)"},
    {"raised_base", "", R"(
DEVICE float raised_base(float base, float m) {  // follows m only where that is above it by more than 1
  return m > base + 1.0f ? m : base;
}
)"},
    {"add_smaller", "", R"(
// a + b; what rounding lost is added to low, if b is not larger than a. Where it is, at most one rounding of the sum is
// lost, and the sum has doubled.
DEVICE float add_smaller(float a, float b, float& low) {
  const float sum = a + b;
  low += b - (sum - a);
  return sum;
}
)"},
    {"add_exponentials", "exp2_approximate add_smaller", R"(
// To e, a sum of exp(x - base), and low, what rounding lost of it, another sum of exp(x - next). No number of small
// steps of the maximum adds up roundings of e: each change of the base divides it by more than e.
DEVICE void add_exponentials(float& e, float& low, float& base, float next, float sum) {
  if (base != next) {
    const float scale = exp2_approximate((base - next) * 0x1.715476p+0f);
    e *= scale, low *= scale, base = next;
  }
  e = add_smaller(e, sum, low);
}
)"},
    {"accumulate_logsumexp", "raised_base add_exponentials maximum_f32", R"(
DEVICE void accumulate_logsumexp(float& m, float& e, float& base, float& low, float m1, float e1) {
  m = maximum_f32(m, m1);
  const float next = raised_base(base, m);
  add_exponentials(e, low, base, next, m1 == next ? e1 : e1 * exp2_approximate((m1 - next) * 0x1.715476p+0f));
}
)"},
    {"total_logsumexp", "exp2_approximate add_low", R"(
DEVICE float total_logsumexp(float m, float e, float base, float low) {  // the sum of exp(x - m)
  return add_low(e, low) * (base == m ? 1.0f : exp2_approximate((base - m) * 0x1.715476p+0f));
}
)"},
    {"tree_logsumexp", "exp2_approximate maximum_f32 exponential_base", R"(
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
)"},
    {"join_deviations", "reciprocal_approximate", R"(
// n elements, their mean, and the sum of their squared deviations from it. Nothing overflows that is multiplied by the
// 0 of an empty state.
DEVICE void join_deviations(float& n, float& mean, float& sum, float n0, float mean0, float sum0, float n1, float mean1,
                            float sum1) {
  n = n0 + n1;
  const float share = n1 * reciprocal_approximate(n < 1.0f ? 1.0f : n), difference = mean1 - mean0;
  mean = fmaf(difference, share, mean0);
  sum = fmaf(difference * (n0 * share), difference, sum0 + sum1);
}
)"},
    {"accumulate_deviations", "reciprocal_approximate add_smaller", R"(
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
)"},
    {"tree_deviations", "", R"(
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
)"},
}};

}  // namespace

std::span<const Snippet> running_snippets() { return table; }

}  // namespace kiln::codegen::cuda
