// examples/llm/blocks.cpp -- rotary embedding, SwiGLU, softmax with temperature and mask, in bfloat16.
//
//   llm_blocks [--size tokens] [--save directory]
#include "examples/support/report.h"

namespace kl = kiln;
using bf16 = kl::bfloat16;
using examples::row_of;

constexpr std::int64_t heads = 32, head_size = 128, half = head_size / 2;
constexpr std::int64_t hidden = 14336;  // of SwiGLU
constexpr float base = 10000.0f, temperature = 0.7f;

// Pair (k, k + half) of a head is turned by position * base^(-k / half). Two results go to the two halves of the heads,
// which may be the memory that was read: the right side is complete before the first write. No table of angles is read.
const auto rotary = kl::jit("rotary", [](auto first, auto second, auto log_base) {
  auto position = kl::cast<float>(kl::index(first, 0)), k = kl::cast<float>(kl::index(first, 2));
  auto angle = position * kl::exp(-log_base * k * (1.0f / half));
  auto c = kl::cos(angle), s = kl::sin(angle);
  return std::tuple(kl::cast<bf16>(first * c - second * s), kl::cast<bf16>(second * c + first * s));
});

const auto swiglu = kl::jit("swiglu", [](auto gate, auto up) { return kl::cast<bf16>(kl::silu(gate) * up); });

// Masked places weigh nothing: exp(-inf) is 0. The mask is a row of booleans (padding) and the diagonal (causal).
const auto masked_softmax = kl::jit("masked_softmax", [](auto scores, auto is_real, auto inverse_temperature) {
  auto is_past = kl::index(scores, 1) <= kl::index(scores, 0);
  auto x = kl::where(is_past && is_real, kl::cast<float>(scores) * inverse_temperature, -INFINITY);
  auto e = kl::exp(x - kl::max(x, -1, kl::keepdims));
  return kl::cast<bf16>(e / kl::sum(e, -1, kl::keepdims));
});

double check_rotary(const kl::Array<bf16>& before, const kl::Array<bf16>& after) {
  double worst = 0;
  for (const std::int64_t token : examples::sample(before.shape()[0])) {
    for (const std::int64_t head : {std::int64_t{0}, heads - 1}) {
      const std::vector<double> x = row_of(before, token * heads + head);
      std::vector<double> expected(head_size);
      for (std::size_t k = 0; k < half; ++k) {
        const double angle = double(token) * std::pow(double(base), -double(k) / double(half));
        expected[k] = x[k] * std::cos(angle) - x[k + half] * std::sin(angle);
        expected[k + half] = x[k + half] * std::cos(angle) + x[k] * std::sin(angle);
      }
      worst = std::fmax(worst, examples::difference(row_of(after, token * heads + head), expected));
    }
  }
  return worst;
}

double check_swiglu(const kl::Array<bf16>& gate, const kl::Array<bf16>& up, const kl::Array<bf16>& y) {
  double worst = 0;
  for (const std::int64_t r : examples::sample(gate.shape()[0])) {
    const std::vector<double> g = row_of(gate, r), u = row_of(up, r);
    std::vector<double> expected(g.size());
    for (std::size_t i = 0; i < g.size(); ++i) expected[i] = g[i] / (1 + std::exp(-g[i])) * u[i];
    worst = std::fmax(worst, examples::difference(row_of(y, r), expected));
  }
  return worst;
}

double check_softmax(const kl::Array<bf16>& scores, const std::vector<bool>& is_real, const kl::Array<bf16>& p) {
  double worst = 0;
  for (const std::int64_t r : examples::sample(scores.shape()[0])) {
    const std::vector<double> x = row_of(scores, r);
    std::vector<double> expected(x.size());
    double total = 0, highest = -INFINITY;
    const auto counts = [&](std::size_t i) { return std::int64_t(i) <= r && is_real[i]; };
    for (std::size_t i = 0; i < x.size(); ++i)
      if (counts(i)) highest = std::fmax(highest, x[i]);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (counts(i)) expected[i] = std::exp((x[i] - highest) / double(temperature));
      total += expected[i];
    }
    for (double& e : expected) e /= total;
    worst = std::fmax(worst, examples::difference(row_of(p, r), expected));
  }
  return worst;
}

int main(int argc, char** argv) {
  const examples::Options options = examples::parse(argc, argv, 128, 16384);
  const std::int64_t tokens = options.size;
  const double bytes = 2.0 * static_cast<double>(tokens);  // of a bf16 per token
  examples::Table table("parts of a transformer block, bf16,");

  kl::Array<bf16> x = kl::random::normal<bf16>({tokens, heads, head_size}, 1), turned = x.clone();
  const auto turn = [&](kl::Array<bf16>& out) {
    const auto low = kl::range(0, half), high = kl::range(half, head_size);
    kl::View<bf16> first = out(kl::all, kl::all, low), second = out(kl::all, kl::all, high);
    rotary.into(first, second)(x(kl::all, kl::all, low), x(kl::all, kl::all, high), std::log(base));
  };
  table.row(
      "rotary embedding, 32 heads of 128", 2 * bytes * heads * head_size, 8e-3, [&] { turn(turned); },
      [&] { return check_rotary(x, turned); });

  kl::Array<bf16> gate = kl::random::normal<bf16>({tokens, hidden}, 2),
                  up = kl::random::normal<bf16>({tokens, hidden}, 3);
  kl::Array<bf16> gated({tokens, hidden});
  table.row(
      "SwiGLU, 14336 wide", 3 * bytes * hidden, 8e-3, [&] { swiglu.into(gated)(gate, up); },
      [&] { return check_swiglu(gate, up, gated); });

  kl::Array<bf16> scores = 3.0f * kl::random::normal<bf16>({tokens, tokens}, 4), weights({tokens, tokens});
  kl::Array<bool> is_real = kl::arange<int>(0, tokens) % 7 != 3;
  const std::vector<bool> real = [&] {
    std::vector<bool> values;
    for (std::int64_t i = 0; i < tokens; ++i) values.push_back(i % 7 != 3);
    return values;
  }();
  table.row(
      "softmax, temperature, causal, padding", 2 * bytes * static_cast<double>(tokens), 8e-3,
      [&] { masked_softmax.into(weights)(scores, is_real, 1 / temperature); },
      [&] { return check_softmax(scores, real, weights); });

  examples::save(options, "x", x), examples::save(options, "rotary", turned);
  examples::save(options, "gate", gate), examples::save(options, "up", up), examples::save(options, "swiglu", gated);
  examples::save(options, "scores", scores), examples::save(options, "softmax", weights);
  return table.status();
}
