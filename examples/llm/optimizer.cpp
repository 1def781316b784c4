// examples/llm/optimizer.cpp -- a step of AdamW: parameters and both moments changed in place, one kernel.
//
//   llm_optimizer [--size parameters] [--save directory]
#include "examples/support/report.h"

namespace kl = kiln;
using bf16 = kl::bfloat16;

// Four results: the f32 parameters, their moments, and the bf16 copy that the next forward pass reads. `corrected_rate`
// and `corrected_root` are the step's rate / (1 - beta1^t) and 1 / sqrt(1 - beta2^t): run-time numbers, so that no step
// compiles anything.
const auto adamw = kl::jit("adamw", [](auto p, auto m, auto v, auto gradient, auto rate, auto corrected_rate,
                                       auto corrected_root, auto beta1, auto beta2, auto decay, auto eps) {
  auto g = kl::cast<float>(gradient);
  auto next_m = beta1 * m + (1.0f - beta1) * g;
  auto next_v = beta2 * v + (1.0f - beta2) * g * g;
  auto next_p = p * (1.0f - rate * decay) - corrected_rate * next_m / (kl::sqrt(next_v) * corrected_root + eps);
  return std::tuple(next_p, next_m, next_v, kl::cast<bf16>(next_p));
});

constexpr double rate = 1e-3, beta1 = 0.9, beta2 = 0.999, decay = 0.01, eps = 1e-8;

struct State {
  kl::Array<float> p, m, v;
  kl::Array<bf16> p16;
};

void step(State& s, const kl::Array<bf16>& gradient, int t) {
  adamw.into(s.p, s.m, s.v, s.p16)(s.p, s.m, s.v, gradient, float(rate), float(rate / (1 - std::pow(beta1, t))),
                                   float(1 / std::sqrt(1 - std::pow(beta2, t))), float(beta1), float(beta2),
                                   float(decay), float(eps));
}

/// `steps` steps of one parameter in double precision.
double expected(double p, double gradient, int steps) {
  double m = 0, v = 0;
  for (int t = 1; t <= steps; ++t) {
    m = beta1 * m + (1 - beta1) * gradient;
    v = beta2 * v + (1 - beta2) * gradient * gradient;
    p -= rate * decay * p;
    p -= rate * (m / (1 - std::pow(beta1, t))) / (std::sqrt(v / (1 - std::pow(beta2, t))) + eps);
  }
  return p;
}

int main(int argc, char** argv) {
  const examples::Options options = examples::parse(argc, argv, 1 << 20, 1 << 28);
  const std::int64_t n = options.size;
  const kl::Array<bf16> gradient = kl::random::normal<bf16>({n}, 1);
  const kl::Array<float> start = kl::random::normal<float>({n}, 2);
  State state{start.clone(), kl::zeros<float>({n}), kl::zeros<float>({n}), kl::Array<bf16>({n})};

  constexpr int steps = 10;
  for (int t = 1; t < steps; ++t) step(state, gradient, t);
  const auto check = [&] {
    const kl::Array<float> first_start = start(kl::range(0, 4096)), first = state.p(kl::range(0, 4096));
    const kl::Array<bf16> first_gradient = gradient(kl::range(0, 4096)), copy = state.p16(kl::range(0, 4096));
    const std::vector<float> p0 = first_start.to_host(), p = first.to_host();
    const std::vector<bf16> g = first_gradient.to_host(), p16 = copy.to_host();
    double worst = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      worst = std::fmax(worst, std::fabs(double(p[i]) - expected(double(p0[i]), double(float(g[i])), steps)));
      if (float(p16[i]) != float(bf16(p[i]))) return double(INFINITY);  // the copy is the parameter, rounded once
    }
    return worst;
  };
  examples::Table table("AdamW, f32 parameters and moments, bf16 gradients and copy,");
  const double bytes = static_cast<double>(n) * (2 + 3 * 8 + 2);
  table.row("AdamW, 10 steps checked", bytes, 2e-6, [&] { step(state, gradient, steps); }, check);

  State saved{start.clone(), kl::zeros<float>({n}), kl::zeros<float>({n}), kl::Array<bf16>({n})};
  step(saved, gradient, 1);
  examples::save(options, "start", start), examples::save(options, "gradient", gradient);
  examples::save(options, "p", saved.p), examples::save(options, "m", saved.m), examples::save(options, "v", saved.v);
  return table.status();
}
