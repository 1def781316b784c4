// examples/llm/norms.cpp -- residual add + RMSNorm, layer normalisation forward and backward, in bfloat16.
//
//   llm_norms [--size rows] [--save directory]        rows of 4096 elements
#include "examples/support/report.h"

namespace kl = kiln;
using bf16 = kl::bfloat16;
using examples::row_of;

constexpr std::int64_t width = 4096;
constexpr float eps = 1e-5f;

// Two results, one kernel, each row read once: the sum, which is the residual of the next layer, and its norm. The
// sum is rounded to bf16 as it is stored, and what was rounded is normalised.
const auto add_rmsnorm = kl::jit("add_rmsnorm", [](auto x, auto residual, auto weight, auto epsilon) {
  auto sum = kl::cast<bf16>(x + residual);
  auto h = kl::cast<float>(sum);
  auto scale = kl::rsqrt(kl::mean(h * h, -1, kl::keepdims) + epsilon);
  return std::tuple(sum, kl::cast<bf16>(h * scale * weight));
});

const auto layernorm = kl::jit("layernorm", [](auto x, auto weight, auto bias, auto epsilon) {
  auto h = kl::cast<float>(x);
  auto mean = kl::mean(h, -1, kl::keepdims);
  auto rstd = kl::rsqrt(kl::var(h, -1, kl::keepdims) + epsilon);
  return std::tuple(kl::cast<bf16>((h - mean) * rstd * weight + bias), mean, rstd);
});

const auto layernorm_dx = kl::jit("layernorm_dx", [](auto dy, auto x, auto weight, auto mean, auto rstd) {
  auto normal = (kl::cast<float>(x) - mean) * rstd;
  auto g = kl::cast<float>(dy) * weight;
  return kl::cast<bf16>(rstd * (g - kl::mean(g, -1, kl::keepdims) - normal * kl::mean(g * normal, -1, kl::keepdims)));
});

// The gradients of weight and bias are sums over the rows: both in one pass down the columns.
const auto layernorm_dw = kl::jit("layernorm_dw", [](auto dy, auto x, auto mean, auto rstd) {
  auto g = kl::cast<float>(dy);
  return std::tuple(kl::sum(g * (kl::cast<float>(x) - mean) * rstd, 0), kl::sum(g, 0));
});

struct Data {
  kl::Array<bf16> x, residual, dy, weight;
  kl::Array<float> weight32, bias;
};

double rounded(double value) { return static_cast<double>(static_cast<float>(bf16(static_cast<float>(value)))); }

double check_rmsnorm(const Data& d, const kl::Array<bf16>& sum, const kl::Array<bf16>& y) {
  double worst = 0;
  const std::vector<double> w = row_of(d.weight, 0);
  for (const std::int64_t r : examples::sample(d.x.shape()[0])) {
    const std::vector<double> x = row_of(d.x, r), residual = row_of(d.residual, r);
    std::vector<double> h(x.size()), expected(x.size());
    double squares = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      h[i] = rounded(x[i] + residual[i]);
      squares += h[i] * h[i];
    }
    const double scale = 1 / std::sqrt(squares / double(width) + double(eps));
    for (std::size_t i = 0; i < x.size(); ++i) expected[i] = h[i] * scale * w[i];
    worst = std::fmax(worst, examples::difference(row_of(sum, r), h));
    worst = std::fmax(worst, examples::difference(row_of(y, r), expected));
  }
  return worst;
}

/// Forward and backward of one row in double precision, straight from the definition.
struct Reference {
  std::vector<double> y, normal, dx;
  Reference(const std::vector<double>& x, const std::vector<double>& dy, const std::vector<double>& w,
            const std::vector<double>& b)
      : y(x.size()), normal(x.size()), dx(x.size()) {
    const double n = static_cast<double>(x.size());
    double mean = 0, variance = 0, mean_g = 0, mean_gn = 0;
    for (const double v : x) mean += v / n;
    for (const double v : x) variance += (v - mean) * (v - mean) / n;
    const double rstd = 1 / std::sqrt(variance + double(eps));
    for (std::size_t i = 0; i < x.size(); ++i) {
      normal[i] = (x[i] - mean) * rstd;
      y[i] = normal[i] * w[i] + b[i];
      mean_g += dy[i] * w[i] / n;
      mean_gn += dy[i] * w[i] * normal[i] / n;
    }
    for (std::size_t i = 0; i < x.size(); ++i) dx[i] = rstd * (dy[i] * w[i] - mean_g - normal[i] * mean_gn);
  }
};

/// Worst error of y (or, with `backward`, dx) over some rows.
double check_layernorm(const Data& d, const kl::Array<bf16>& got, bool backward) {
  const std::vector<double> w = row_of(d.weight32, 0), b = row_of(d.bias, 0);
  double worst = 0;
  for (const std::int64_t r : examples::sample(d.x.shape()[0])) {
    const Reference expected(row_of(d.x, r), row_of(d.dy, r), w, b);
    worst = std::fmax(worst, examples::difference(row_of(got, r), backward ? expected.dx : expected.y));
  }
  return worst;
}

/// Sums down all rows, of the first columns: relative to the size of a sum of so many random numbers.
double check_weights(const Data& d, const kl::Array<float>& dweight, const kl::Array<float>& dbias) {
  constexpr std::int64_t columns = 8;
  const std::int64_t rows = d.x.shape()[0];
  // The mean and deviation of each row come from the device, in f64.
  auto h = kl::cast<double>(d.x);
  const kl::Array<double> mean = kl::mean(h, -1, kl::keepdims),
                          rstd = kl::rsqrt(kl::var(h, -1, kl::keepdims) + double(eps));
  const std::vector<double> means = mean.to_host(), rstds = rstd.to_host();
  const auto columns_of = [&](const kl::Array<bf16>& a) {
    return kl::eval(a(kl::all, kl::range(0, columns))).to_host();
  };
  const std::vector<bf16> x = columns_of(d.x), dy = columns_of(d.dy);
  std::vector<double> w(columns, 0), b(columns, 0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t row = i / columns;
    const double g = static_cast<double>(static_cast<float>(dy[i]));
    w[i % columns] += g * (static_cast<double>(static_cast<float>(x[i])) - means[row]) * rstds[row];
    b[i % columns] += g;
  }
  double worst = 0;
  const std::vector<double> got_w = row_of(dweight, 0), got_b = row_of(dbias, 0);
  for (std::size_t i = 0; i < columns; ++i)
    worst = std::fmax(worst, std::fmax(std::fabs(got_w[i] - w[i]), std::fabs(got_b[i] - b[i])));
  return worst / std::sqrt(static_cast<double>(rows));
}

int main(int argc, char** argv) {
  const examples::Options options = examples::parse(argc, argv, 256, 65536);
  const std::int64_t rows = options.size;
  Data d;
  d.x = kl::random::normal<bf16>({rows, width}, 1);
  d.residual = kl::random::normal<bf16>({rows, width}, 2);
  d.dy = kl::random::normal<bf16>({rows, width}, 3);
  d.weight = 1.0f + 0.1f * kl::random::normal<bf16>({width}, 4);
  d.weight32 = kl::cast<float>(d.weight);
  d.bias = 0.1f * kl::random::normal<float>({width}, 5);
  kl::Array<bf16> sum({rows, width}), y({rows, width}), normed({rows, width}), dx({rows, width});
  kl::Array<float> mean({rows, 1}), rstd({rows, 1}), dweight({width}), dbias({width});
  const double tensor = 2.0 * static_cast<double>(rows * width);  // bytes of one bf16 matrix

  examples::Table table("normalisation of rows of 4096 bf16");
  table.row(
      "add + RMSNorm", 4 * tensor, 8e-3, [&] { add_rmsnorm.into(sum, y)(d.x, d.residual, d.weight, eps); },
      [&] { return check_rmsnorm(d, sum, y); });
  table.row(
      "layernorm", 2 * tensor, 8e-3, [&] { layernorm.into(normed, mean, rstd)(d.x, d.weight32, d.bias, eps); },
      [&] { return check_layernorm(d, normed, false); });
  table.row(
      "layernorm backward, dx", 3 * tensor, 8e-3, [&] { layernorm_dx.into(dx)(d.dy, d.x, d.weight32, mean, rstd); },
      [&] { return check_layernorm(d, dx, true); });
  table.row(
      "layernorm backward, weights", 2 * tensor, 1e-5,
      [&] { layernorm_dw.into(dweight, dbias)(d.dy, d.x, mean, rstd); },
      [&] { return check_weights(d, dweight, dbias); });

  examples::save(options, "x", d.x), examples::save(options, "residual", d.residual),
      examples::save(options, "dy", d.dy);
  examples::save(options, "weight", d.weight32), examples::save(options, "bias", d.bias);
  examples::save(options, "sum", sum), examples::save(options, "rmsnorm", y),
      examples::save(options, "layernorm", normed);
  examples::save(options, "dx", dx), examples::save(options, "dweight", dweight),
      examples::save(options, "dbias", dbias);
  return table.status();
}
