// examples/llm/flash_attention.cpp -- fused attention: as expressions, and as a kernel of one's own on the tensor
// cores.
//
// As expressions attention is three lines that anybody can check; it stores a score per pair of positions, which is
// memory that grows with their square. flash_attention.cuh never stores the scores. kiln compiles it for each type,
// head size and tile that is asked for, keeps what it compiled, and launches it; here several tiles are tried and the
// fastest is taken. Usage: llm_flash_attention [--figures [TOKENS...]] prints a line per case instead of the small
// check.
#include <kiln/kiln.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace kl = kiln;

struct Sizes {  // as flash::Sizes
  int queries, keys, heads, heads_per_group;
  float scale;
};

struct Case {
  int batch, heads, groups, queries, keys, head;
  bool causal;
  float scale() const { return 1 / std::sqrt(static_cast<float>(head)); }
};

struct Tile {
  int rows, columns, warps;
};
constexpr Tile tiles[] = {{128, 32, 4}, {64, 64, 4}, {128, 64, 4}, {128, 64, 8}, {128, 128, 8}};

template <class T>
constexpr const char* cuda_name = std::is_same_v<T, kl::half> ? "__half" : "__nv_bfloat16";

/// The definition for one batch, in f32: q [heads, queries, head], k and v [heads, keys, head].
kl::Array<float> by_expressions(const Case& c, const kl::Array<float>& q, const kl::Array<float>& k,
                                const kl::Array<float>& v) {
  const float scale = c.scale();
  const int shift = c.causal ? c.keys - c.queries : c.keys;  // query i sees keys up to i + shift
  const auto probabilities = kl::jit([scale, shift](auto a, auto b) {
    const auto products = kl::sum(a * b, -1) * scale;
    const auto s = kl::where(kl::index(products, 2) <= kl::index(products, 1) + shift, products, -INFINITY);
    const auto e = kl::exp(s - kl::max(s, -1, kl::keepdims));
    return e / kl::sum(e, -1, kl::keepdims);
  });
  const kl::Array<float> p = probabilities(q.unsqueeze(2), k.unsqueeze(1));
  return kl::sum(p.unsqueeze(3) * v.unsqueeze(1), 2);
}

/// Row `i` of one head in double precision, and its logarithm of the sum of exponentials.
double by_loops(const Case& c, int i, const float* q, const float* k, const float* v, std::vector<double>& out) {
  const int end = c.causal ? std::min(c.keys, i + 1 + c.keys - c.queries) : c.keys;
  std::vector<double> scores;
  for (int j = 0; j < end; ++j) {
    double sum = 0;
    for (int d = 0; d < c.head; ++d) sum += static_cast<double>(q[i * c.head + d]) * k[j * c.head + d];
    scores.push_back(sum * c.scale());
  }
  out.assign(static_cast<std::size_t>(c.head), 0);
  if (scores.empty()) return -INFINITY;
  const double largest = *std::max_element(scores.begin(), scores.end());
  double total = 0;
  for (double& s : scores) total += s = std::exp(s - largest);
  for (int j = 0; j < end; ++j)
    for (int d = 0; d < c.head; ++d)
      out[static_cast<std::size_t>(d)] += scores[static_cast<std::size_t>(j)] / total * v[j * c.head + d];
  return largest + std::log(total);
}

/// The fused kernel for one type, head size and tile.
template <class T>
class Flash {
 public:
  Flash(const Case& c, Tile tile)
      : tile_(tile),
        bytes_(static_cast<unsigned>(2 * c.head * (tile.rows + 2 * tile.columns))),
        kernel_(kl::raw_kernel("flash::forward<" + std::string(cuda_name<T>) + ", " + std::to_string(c.head) + ", " +
                                   std::to_string(tile.rows) + ", " + std::to_string(tile.columns) + ", " +
                                   std::to_string(tile.warps) + (c.causal ? ", true>" : ", false>"),
                               "#include <flash_attention.cuh>\n", {.include_paths = {KILN_EXAMPLE_SOURCES}})) {}
  void operator()(const Case& c, kl::Array<T>& out, kl::Array<float>& log_sums, const kl::Array<T>& q,
                  const kl::Array<T>& k, const kl::Array<T>& v) const {
    const auto count = [](int n) { return static_cast<unsigned>(n); };
    const Sizes sizes{c.queries, c.keys, c.heads, c.heads / c.groups, c.scale() * 1.4426950408889634f};
    kernel_[{.grid = {count((c.queries + tile_.rows - 1) / tile_.rows), count(c.heads), count(c.batch)},
             .block = {count(tile_.warps * 32)},
             .shared_bytes = bytes_}](out, log_sums, q, k, v, sizes);
  }

 private:
  Tile tile_;
  unsigned bytes_;
  kl::RawKernel kernel_;
};

template <class T>
struct Problem {
  explicit Problem(const Case& c)
      : q(kl::random::normal<T>({c.batch, c.heads, c.queries, c.head}, 1)),
        k(kl::random::normal<T>({c.batch, c.groups, c.keys, c.head}, 2)),
        v(kl::random::normal<T>({c.batch, c.groups, c.keys, c.head}, 3)),
        out(q.shape()),
        log_sums({c.batch, c.heads, c.queries}) {}
  kl::Array<T> q, k, v, out;
  kl::Array<float> log_sums;
};

/// Milliseconds of one call, the least of several rounds.
template <class T>
double time(const Case& c, const Flash<T>& flash, Problem<T>& p) {
  double best = 1e30;
  kl::Event begin, end;
  flash(c, p.out, p.log_sums, p.q, p.k, p.v);
  for (int round = 0; round < 5; ++round) {
    begin.record();
    for (int i = 0; i < 4; ++i) flash(c, p.out, p.log_sums, p.q, p.k, p.v);
    end.record();
    end.synchronize();
    best = std::min(best, kl::Event::elapsed(begin, end) / 4.0);
  }
  return best;
}

/// Largest difference from by_loops() over some rows of all heads.
template <class T>
double difference(const Case& c, const Problem<T>& p, bool with_sums = true) {
  const auto q = p.q.template astype<float>().to_host(), k = p.k.template astype<float>().to_host();
  const auto v = p.v.template astype<float>().to_host(), out = p.out.template astype<float>().to_host();
  const auto log_sums = p.log_sums.to_host();
  double worst = 0;
  std::vector<double> row;
  for (int h = 0; h < c.batch * c.heads; ++h) {
    const long kv = static_cast<long>(h / (c.heads / c.groups)) * c.keys * c.head;
    for (int i = h % 7; i < c.queries; i += std::max(1, c.queries / 5)) {
      const long at = (static_cast<long>(h) * c.queries + i) * c.head;
      const double log_sum = by_loops(c, i, &q[at - static_cast<long>(i) * c.head], &k[kv], &v[kv], row);
      if (with_sums && log_sum != log_sums[static_cast<std::size_t>(h * c.queries + i)])
        worst = std::max(worst, std::abs(log_sum - log_sums[static_cast<std::size_t>(h * c.queries + i)]));
      for (int d = 0; d < c.head; ++d)
        worst = std::max(worst, std::abs(row[static_cast<std::size_t>(d)] - out[at + d]));
    }
  }
  return worst;
}

template <class T>
bool check_type(const char* name, double tolerance) {
  bool good = true;
  for (const int head : {64, 128}) {
    for (const bool causal : {false, true}) {
      const Case c{2, 4, 2, 999, 1003, head, causal};
      Problem<T> p(c);
      double worst = 0;
      for (const Tile tile : tiles) {
        Flash<T>(c, tile)(c, p.out, p.log_sums, p.q, p.k, p.v);
        worst = std::max(worst, difference(c, p));
      }
      std::printf("%-4s head %3d %-6s 999 x 1003 positions, 4 heads in 2 groups: off by at most %.1e\n", name, head,
                  causal ? "causal" : "full", worst);
      good = good && worst < tolerance;
    }
  }
  return good;
}

bool check_expressions() {
  double worst = 0;
  for (const bool causal : {false, true}) {
    const Case c{1, 2, 2, 33, 40, 16, causal};
    Problem<float> p(c);
    p.out = by_expressions(c, p.q.reshape({2, 33, 16}), p.k.reshape({2, 40, 16}), p.v.reshape({2, 40, 16}))
                .reshape({1, 2, 33, 16});
    worst = std::max(worst, difference(c, p, false));
  }
  std::printf("as expressions on %s: off by at most %.1e\n", kl::Device::current().name(), worst);
  return worst < 1e-5;
}

template <class T>
void figures(const char* name, int tokens, int head, bool causal) {
  const int heads = 2048 / head, batch = std::max(1, 16384 / tokens);
  const Case c{batch, heads, heads, tokens, tokens, head, causal};
  Problem<T> p(c);
  double best = 1e30;
  Tile chosen{};
  for (const Tile tile : tiles) {
    const double ms = time(c, Flash<T>(c, tile), p);
    if (ms < best) best = ms, chosen = tile;
  }
  const double operations = 4.0 * batch * heads * tokens * tokens * head / (causal ? 2 : 1);
  std::printf("%-4s %6d %3d %-6s %8.3f ms %6.0f TFLOP/s  tile %d x %d, %d warps\n", name, tokens, head,
              causal ? "causal" : "full", best, operations / best / 1e9, chosen.rows, chosen.columns, chosen.warps);
}

int main(int argc, char** argv) {
  const bool has_gpu = kl::Device::cuda().is_available();
  if (argc > 1 && std::strcmp(argv[1], "--figures") == 0) {
    const kl::DeviceGuard gpu(kl::Device::cuda());
    std::vector<int> tokens;
    for (int i = 2; i < argc; ++i) tokens.push_back(std::atoi(argv[i]));
    if (tokens.empty()) tokens = {1024, 4096, 16384};
    for (const int n : tokens)
      for (const int head : {64, 128})
        for (const bool causal : {false, true}) figures<kl::bfloat16>("bf16", n, head, causal);
    return 0;
  }
  bool good = check_expressions();
  if (has_gpu) {
    const kl::DeviceGuard gpu(kl::Device::cuda());
    good = check_type<kl::bfloat16>("bf16", 2e-2) && check_type<kl::half>("f16", 2.5e-3) && good;
  } else {
    std::printf("skipped the fused kernel: %s\n", kl::Device::cuda().unavailable_reason());
  }
  return good ? 0 : 1;
}
