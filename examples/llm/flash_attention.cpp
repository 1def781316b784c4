// examples/llm/flash_attention.cpp -- fused attention on the tensor cores, as a kernel of one's own.
//
// attention.cpp writes attention as expressions, which anybody can check; they store a score per pair of positions,
// memory that grows with their square. flash_attention.cuh never stores the scores. kiln compiles it for each type,
// head size and tile that is asked for, keeps what it compiled, and launches it; here several tiles are tried and the
// fastest is taken. Usage: llm_flash_attention [--figures TOKENS...] prints a line per case instead of the check
// against double precision.
#include <kiln/kiln.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
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
  const kl::RawKernel& kernel() const { return kernel_; }

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
double difference(const Case& c, const Problem<T>& p) {
  const auto q = p.q.template astype<float>().to_host(), k = p.k.template astype<float>().to_host();
  const auto v = p.v.template astype<float>().to_host(), out = p.out.template astype<float>().to_host();
  const auto log_sums = p.log_sums.to_host();
  double worst = 0;
  std::vector<double> row;
  for (int h = 0; h < c.batch * c.heads; ++h) {
    const long kv = static_cast<long>(h / (c.heads / c.groups)) * c.keys * c.head;
    for (int i = h % 7; i < c.queries; i += std::max(1, c.queries / 5)) {
      const long at = (static_cast<long>(h) * c.queries + i) * c.head;
      const double want = by_loops(c, i, &q[at - static_cast<long>(i) * c.head], &k[kv], &v[kv], row);
      const double got = log_sums[static_cast<std::size_t>(h * c.queries + i)];
      if (want != got) worst = std::max(worst, std::abs(want - got));  // both may be infinite
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
      // Causal with more queries than keys: the first four see none.
      const Case c{2, 4, 2, causal ? 1003 : 999, causal ? 999 : 1003, head, causal};
      Problem<T> p(c);
      double worst = 0;
      for (const Tile tile : tiles) {
        Flash<T>(c, tile)(c, p.out, p.log_sums, p.q, p.k, p.v);
        worst = std::max(worst, difference(c, p));
      }
      std::printf("%-4s head %3d %-6s %d x %d positions, 4 heads in 2 groups: off by at most %.1e\n", name, head,
                  causal ? "causal" : "full", c.queries, c.keys, worst);
      good = good && worst < tolerance;
    }
  }
  return good;
}

bool compile_for(const char* arch) {  // needs no GPU
  const Case c{1, 1, 1, 1, 1, 128, true};
  try {
    const kl::Inspection compiled = Flash<kl::bfloat16>(c, tiles[1]).kernel().inspect(arch);
    std::printf("%s: %d registers, %d bytes of spills\n", arch, compiled.kernels[0].registers,
                compiled.kernels[0].spills);
    return compiled.kernels[0].spills == 0;
  } catch (const kl::Error& error) {
    const std::string text = error.what();
    std::printf("skipped: %s\n", error.what());
    return text.starts_with("NVRTC, the CUDA compiler,") || text.find("without the CUDA backend") != text.npos;
  }
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
  if (argc > 1 && std::string(argv[1]) == "--figures") {
    const kl::DeviceGuard gpu(kl::Device::cuda());
    std::vector<int> tokens;
    for (int i = 2; i < argc; ++i) tokens.push_back(std::atoi(argv[i]));
    for (const int n : tokens)
      for (const int head : {64, 128})
        for (const bool causal : {false, true}) figures<kl::bfloat16>("bf16", n, head, causal);
    return 0;
  }
  if (!kl::Device::cuda().is_available()) {
    std::printf("skipped the launch: %s\n", kl::Device::cuda().unavailable_reason());
    return compile_for("sm_80") && compile_for("sm_90") ? 0 : 1;
  }
  const kl::DeviceGuard gpu(kl::Device::cuda());
  return check_type<kl::bfloat16>("bf16", 2e-2) && check_type<kl::half>("f16", 2.5e-3) ? 0 : 1;
}
