// examples/llm/loss.cpp -- cross-entropy with label smoothing, forward and backward, over a vocabulary of 128,256
// words.
//
//   llm_loss [--size tokens] [--save directory]
//
// With smoothing s the target is 1 - s on the label and s / V on each of the V words, so that
//   loss    = logsumexp(x) - (1 - s) x[label] - s mean(x)
//   dx      = exp(x - logsumexp(x)) - (1 - s) [word = label] - s / V
// Probabilities are never stored: forward keeps one number per token, backward makes them again while it writes dx.
#include "examples/support/report.h"

namespace kl = kiln;
using bf16 = kl::bfloat16;
using examples::row_of;

constexpr std::int64_t words = 128256;
constexpr float smoothing = 0.1f;
constexpr std::int32_t padding = -100;  // a label that counts for nothing

const auto forward = kl::jit("cross_entropy", [](auto logits, auto labels, auto s) {
  auto x = kl::cast<float>(logits);
  auto lse = kl::logsumexp(x, -1, kl::keepdims);
  auto at_label = kl::cast<float>(kl::take_along_axis(logits, kl::maximum(labels, 0), 1));
  auto loss = lse - (1.0f - s) * at_label - s * kl::mean(x, -1, kl::keepdims);
  return std::tuple(kl::where(labels < 0, 0.0f, loss), lse);
});

// `scale` is the gradient of the total loss by each token's: 1 / tokens for their mean.
const auto backward =
    kl::jit("cross_entropy_dx", [](auto logits, auto labels, auto lse, auto s, auto share, auto scale) {
      auto p = kl::exp(kl::cast<float>(logits) - lse);
      auto target = kl::where(kl::index(logits, 1) == labels, 1.0f - s, 0.0f) + share;
      return kl::cast<bf16>(kl::where(labels < 0, 0.0f, (p - target) * scale));
    });

struct Reference {
  double loss = 0;
  std::vector<double> dx;
  Reference(const std::vector<double>& x, std::int32_t label, double scale) : dx(x.size(), 0) {
    if (label < 0) return;
    const double s = double(smoothing), n = static_cast<double>(x.size());
    double highest = x[0], total = 0, mean = 0;
    for (const double v : x) highest = std::fmax(highest, v);
    for (const double v : x) {
      total += std::exp(v - highest);
      mean += v / n;
    }
    const double lse = highest + std::log(total);
    const auto at = static_cast<std::size_t>(label);
    loss = lse - (1 - s) * x[at] - s * mean;
    for (std::size_t i = 0; i < x.size(); ++i) dx[i] = scale * (std::exp(x[i] - lse) - (i == at ? 1 - s : 0) - s / n);
  }
};

int main(int argc, char** argv) {
  const examples::Options options = examples::parse(argc, argv, 24, 8192);
  const std::int64_t tokens = options.size;
  kl::Array<bf16> logits = 2.0f * kl::random::normal<bf16>({tokens, words}, 1);
  std::vector<std::int32_t> label_values;
  for (std::int64_t i = 0; i < tokens; ++i)
    label_values.push_back(i % 5 == 4 ? padding : static_cast<std::int32_t>(i * 7919 % words));
  const kl::Array<std::int32_t> labels = kl::from_host(label_values, {tokens, 1});
  kl::Array<float> loss({tokens, 1}), lse({tokens, 1});
  kl::Array<bf16> gradient({tokens, words});
  const float scale = 1024.0f;  // as of loss scaling: bf16 keeps the small ones apart anyway
  const double tensor = 2.0 * static_cast<double>(tokens * words);

  const auto check = [&](bool is_backward) {
    double worst = 0;
    for (const std::int64_t r : examples::sample(tokens, 8)) {
      const Reference expected(row_of(logits, r), label_values[static_cast<std::size_t>(r)], double(scale));
      worst = std::fmax(worst, is_backward ? examples::difference(row_of(gradient, r), expected.dx)
                                           : examples::difference(row_of(loss, r), {expected.loss}));
    }
    return worst;
  };
  examples::Table table("cross-entropy with label smoothing over 128,256 words, bf16 logits,");
  table.row(
      "forward: loss and logsumexp", tensor, 1e-5, [&] { forward.into(loss, lse)(logits, labels, smoothing); },
      [&] { return check(false); });
  table.row(
      "backward: gradient of the logits", 2 * tensor, 8e-3,
      [&] { backward.into(gradient)(logits, labels, lse, smoothing, smoothing / float(words), scale); },
      [&] { return check(true); });
  const double kept = 8.0 * static_cast<double>(tokens);
  std::printf("kept between the two: %.0f bytes; stored f32 probabilities would be %.0f\n", kept, 2 * tensor);

  examples::save(options, "logits", logits), examples::save(options, "labels", labels);
  examples::save(options, "loss", loss), examples::save(options, "gradient", gradient);
  return table.status();
}
