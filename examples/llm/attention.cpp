// examples/llm/attention.cpp -- attention as its definition reads: products, a softmax, sums; causal, grouped heads.
//
//   llm_attention [--size tokens] [--save directory]
//
// This is the readable form for short sequences: all scores exist at once, and products of matrices are sums of
// broadcast products, without tensor cores. It is what a kernel that streams over keys must agree with.
#include "examples/support/report.h"

namespace kl = kiln;
using examples::row_of;

constexpr std::int64_t groups = 2, heads_per_group = 3, head_size = 64;  // queries of a group share keys and values

// q {groups, heads, queries, size}; k and v {groups, 1, keys, size}, which broadcast over the heads of their group.
// Results: {groups, heads, queries, size}, and the log of the sum of exponentials, which a backward pass wants.
const auto attention = kl::jit("attention", [](auto q, auto k, auto v, auto scale, kl::Const<bool> causal) {
  auto scores = scale * kl::sum(q.unsqueeze(-2) * k.unsqueeze(-3), -1);  // {groups, heads, queries, keys}
  auto is_seen = kl::index(scores, -1) <= kl::index(scores, -2) || !causal;
  auto s = kl::where(is_seen, scores, -INFINITY);
  auto lse = kl::logsumexp(s, -1, kl::keepdims);
  auto p = kl::exp(s - lse);  // the softmax
  return std::tuple(kl::sum(p.unsqueeze(-1) * v.unsqueeze(-3), -2), lse);
});

/// One query in double precision: the result, then the log-sum-exp.
std::vector<double> reference(const std::vector<double>& q, const kl::Array<float>& k, const kl::Array<float>& v,
                              std::int64_t group, std::int64_t keys) {
  const std::int64_t all_keys = k.shape()[2];
  std::vector<double> scores, result(head_size + 1, 0);
  double highest = -INFINITY, total = 0;
  for (std::int64_t j = 0; j < keys; ++j) {
    const std::vector<double> key = row_of(k, group * all_keys + j);
    double dot = 0;
    for (std::size_t i = 0; i < key.size(); ++i) dot += q[i] * key[i];
    scores.push_back(dot / std::sqrt(double(head_size)));
    highest = std::fmax(highest, scores.back());
  }
  for (const double s : scores) total += std::exp(s - highest);
  for (std::int64_t j = 0; j < keys; ++j) {
    const std::vector<double> value = row_of(v, group * all_keys + j);
    const double p = std::exp(scores[static_cast<std::size_t>(j)] - highest) / total;
    for (std::size_t i = 0; i < value.size(); ++i) result[i] += p * value[i];
  }
  result[head_size] = highest + std::log(total);
  return result;
}

int main(int argc, char** argv) {
  const examples::Options options = examples::parse(argc, argv, 48, 512);
  const std::int64_t n = options.size;
  const kl::Array<float> q = kl::random::normal<float>({groups, heads_per_group, n, head_size}, 1),
                         k = kl::random::normal<float>({groups, 1, n, head_size}, 2),
                         v = kl::random::normal<float>({groups, 1, n, head_size}, 3);
  kl::Array<float> out(q.shape()), lse({groups, heads_per_group, n, 1});
  const float scale = 1 / std::sqrt(float(head_size));

  const auto check = [&](bool causal) {
    double worst = 0;
    for (const std::int64_t r : examples::sample(groups * heads_per_group * n)) {
      const std::int64_t group = r / (heads_per_group * n), query = r % n;
      std::vector<double> got = row_of(out, r);
      got.push_back(row_of(lse, r)[0]);
      worst = std::fmax(worst, examples::difference(got, reference(row_of(q, r), k, v, group, causal ? query + 1 : n)));
    }
    return worst;
  };
  examples::Table table("attention as expressions, f32, 6 heads of 64, 2 heads of keys");
  const double bytes = 4.0 * static_cast<double>((2 * heads_per_group + 2) * groups * n * head_size);
  table.row(
      "all keys", bytes, 1e-5, [&] { attention.into(out, lse)(q, k, v, scale, kl::Const<bool>(false)); },
      [&] { return check(false); });
  table.row(
      "causal", bytes, 1e-5, [&] { attention.into(out, lse)(q, k, v, scale, kl::Const<bool>(true)); },
      [&] { return check(true); });
  examples::save(options, "q", q), examples::save(options, "k", k), examples::save(options, "v", v);
  examples::save(options, "out", out), examples::save(options, "lse", lse);
  return table.status();
}
