// benchmarks/reductions.cpp -- bytes that must move / time for reductions and normalisations, beside a copy and a
// read of the device in the same run.
//
//   reductions [PART OF A NAME ... | --serve]
//
// The sums of every shape of 2^27 elements run only if asked for: reductions sweep. Their results are compared with
// sums in f64; the program fails where one is wrong, and where one is slower than half of a copy, or a form of
// the full sum by more than a tenth than the plain one. On a machine with other work: reductions sweep noisy, which
// only says so.
#include <kiln/kiln.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "benchmarks/support/measure.h"

namespace kl = kiln;

namespace {

using benchmarks::Limit;
using benchmarks::measure;
using benchmarks::on_gpu;
using benchmarks::random;
using benchmarks::scaled;
using benchmarks::wanted;
using kl::bfloat16;

void full_reductions() {
  const std::int64_t n = scaled(std::int64_t{1} << 28);
  const double bytes = 4.0 * double(n);
  kl::Array<float> x = random<float>({n}, -0.5f), y = random<float>({n}), f, g;
  kl::Array<std::int64_t> position;
  measure("sum_f32", bytes, Limit::read, [&] { f = kl::sum(x); });
  measure("dot_f32", 2 * bytes, Limit::read, [&] { f = kl::sum(x * y); });
  measure("norm_f32", bytes, Limit::read, [&] { f = kl::norm(x); });
  measure("mean_var_f32", bytes, Limit::read, [&] { kl::eval(kl::tie(f, g), kl::mean(x), kl::var(x)); });
  measure("argmax_f32", bytes, Limit::read, [&] { position = kl::argmax(x); });
  if (!wanted("sum_bf16_f32")) return;
  kl::Array<bfloat16> h = random<bfloat16>({n});
  measure("sum_bf16_f32", bytes / 2, Limit::read, [&] { f = kl::sum(kl::cast<float>(h)); });
}

void sums_along(const char* name, kl::Shape shape, int axis) {
  if (!wanted(name)) return;
  kl::Array<float> x = random<float>(shape), out = kl::eval(kl::sum(x, axis));
  measure(name, 4.0 * double(x.size() + out.size()), Limit::read, [&] { out = kl::sum(x, axis); });
}

void partial_sums() {
  sums_along("row_sum_16384x16384", {scaled(16384), 16384}, 1);
  sums_along("row_sum_4Mx64", {scaled(4 << 20), 64}, 1);
  sums_along("column_sum_16384x16384", {scaled(16384), 16384}, 0);
  sums_along("column_sum_4Mx64", {scaled(4 << 20), 64}, 0);
  sums_along("middle_sum_64x4096x1024", {scaled(64), 4096, 1024}, 1);
  if (!wanted("column_mean_var_262144x256")) return;
  kl::Array<float> x = random<float>({scaled(262144), 256}), mean({256}), var({256});
  measure("column_mean_var_262144x256", 4.0 * double(x.size()), Limit::read,
          [&] { kl::eval(kl::tie(mean, var), kl::mean(x, 0), kl::var(x, 0)); });
}

bool all_right = true;
bool is_noisy = false;

/// `rate` beside what it should reach at least.
void expect_speed(const std::string& name, double rate, double least, const char* what) {
  if (rate == 0 || rate >= least) return;
  std::printf("%s: TOO SLOW, %.0f GB/s of %.0f, %s\n", name.c_str(), rate, least, what);
  all_right = all_right && is_noisy;
}

/// Results beside sums in f64 of positive numbers: within log2(n) roundings of f32, as kiln promises.
void compare(const std::string& name, const kl::Array<float>& out, const std::vector<double>& want, double terms) {
  const std::vector<float> got = out.to_host();
  const double most = std::log2(terms) * 0x1p-24;
  bool right = got.size() == want.size();
  for (std::size_t i = 0; right && i < want.size(); ++i) right = std::fabs(double(got[i]) - want[i]) <= most * want[i];
  if (!right) std::printf("%s: WRONG RESULTS\n", name.c_str());
  all_right = all_right && right;
}

std::vector<double> sums_of_rows(const std::vector<float>& x, std::size_t columns) {
  std::vector<double> sums(x.size() / columns, 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) sums[i / columns] += double(x[i]);
  return sums;
}
std::vector<double> sums_of_columns(const std::vector<float>& x, std::size_t columns) {
  std::vector<double> sums(columns, 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) sums[i % columns] += double(x[i]);
  return sums;
}

/// 2^27 elements as few long to many short rows: no shape, and no form of the full sum, may be slow, or wrong.
void sweep() {
  const int bits = on_gpu() ? 27 : 23;
  const kl::Array<float> x = random<float>({std::int64_t{1} << bits});
  const std::vector<float> host = x.to_host();
  kl::Array<float> out;
  for (int k = 5; k <= bits - 5; ++k) {
    const std::size_t rows = std::size_t{1} << k, columns = std::size_t{1} << (bits - k);
    const auto view = x.reshape({std::int64_t(rows), std::int64_t(columns)});
    for (const int axis : {0, 1}) {
      const std::string name = "sweep_2^" + std::to_string(k) + "_axis_" + std::to_string(axis);
      out = kl::sum(view, axis);
      compare(name, out, axis ? sums_of_rows(host, columns) : sums_of_columns(host, columns),
              double(axis ? columns : rows));
      const double rate =
          measure(name, 4.0 * double(x.size() + out.size()), Limit::read, [&] { out = kl::sum(view, axis); });
      expect_speed(name, rate, benchmarks::limit_rate(Limit::copy) / 2, "half of a copy");
    }
  }
  const auto square = x.reshape({std::int64_t{1} << 13, std::int64_t{1} << (bits - 13)});
  const double bytes = 4.0 * double(x.size());
  const std::vector<double> total = sums_of_rows(host, host.size());
  double plain = 0;
  const auto full = [&](const char* name, const auto& sum) {
    out = sum;
    compare(name, out, total, double(host.size()));
    const double rate = measure(name, bytes, Limit::read, [&] { out = sum; });
    if (plain == 0) plain = rate;
    expect_speed(name, rate, benchmarks::limit_rate(Limit::copy) / 2, "half of a copy");
    expect_speed(name, rate, 0.9 * plain, "nine tenths of the plain form");
  };
  full("sweep_full", kl::sum(square));
  full("sweep_full_transposed", kl::sum(square.t()));
  full("sweep_full_keepdims", kl::sum(square, kl::keepdims));
}

template <class T>
void softmax(const char* name, std::int64_t rows, std::int64_t columns) {
  if (!wanted(name)) return;
  kl::Array<T> x = random<T>({rows, columns}), y({rows, columns});
  auto f = kl::jit([](auto v) {
    auto e = kl::exp(v - kl::max(v, -1, kl::keepdims));
    return e / kl::sum(e, -1, kl::keepdims);
  });
  measure(name, 2.0 * sizeof(T) * double(x.size()), Limit::copy, [&] { f.into(y)(x); });
}

void layernorm(const char* name, std::int64_t rows, std::int64_t columns) {
  if (!wanted(name)) return;
  kl::Array<bfloat16> x = random<bfloat16>({rows, columns}), y({rows, columns});
  kl::Array<bfloat16> w = random<bfloat16>({columns}), b = random<bfloat16>({columns});
  auto f = kl::jit([](auto v, auto weight, auto bias, auto eps) {
    auto d = v - kl::mean(v, -1, kl::keepdims);
    return d * kl::rsqrt(kl::var(v, -1, kl::keepdims) + eps) * weight + bias;
  });
  measure(name, 4.0 * double(x.size()), Limit::copy, [&] { f.into(y)(x, w, b, 1e-5f); });
}

void rms_norms() {
  const std::int64_t rows = scaled(65536), columns = 4096;
  kl::Array<bfloat16> x = random<bfloat16>({rows, columns}), y({rows, columns}), w = random<bfloat16>({columns});
  auto norm = [](auto v, auto weight, auto eps) {
    return v * kl::rsqrt(kl::mean(v * v, -1, kl::keepdims) + eps) * weight;
  };
  if (wanted("rms_norm_bf16_4096")) {
    auto f = kl::jit(norm);
    measure("rms_norm_bf16_4096", 4.0 * double(x.size()), Limit::copy, [&] { f.into(y)(x, w, 1e-5f); });
  }
  if (wanted("add_rms_norm_bf16_4096")) {
    kl::Array<bfloat16> residual = random<bfloat16>({rows, columns}), sum({rows, columns});
    auto f = kl::jit([=](auto v, auto r, auto weight, auto eps) {
      auto s = v + r;
      return std::tuple(norm(s, weight, eps), s);
    });
    measure("add_rms_norm_bf16_4096", 8.0 * double(x.size()), Limit::copy,
            [&] { f.into(y, sum)(x, residual, w, 1e-5f); });
  }
}

void rows() {
  for (const std::int64_t columns : {1024, 4096, 8192, 32768})
    softmax<bfloat16>(("softmax_bf16_" + std::to_string(columns)).c_str(), scaled((1 << 28) / columns), columns);
  for (const std::int64_t columns : {1024, 4096, 32768})
    layernorm(("layernorm_bf16_" + std::to_string(columns)).c_str(), scaled((1 << 28) / columns), columns);
  softmax<float>("softmax_f32_4096", scaled(65536), 4096);
  if (wanted("rms_norm")) rms_norms();
  if (wanted("logsumexp_bf16_128256")) {
    kl::Array<bfloat16> x = random<bfloat16>({scaled(4096), 128256});
    kl::Array<float> out({scaled(4096)});
    measure("logsumexp_bf16_128256", 2.0 * double(x.size()), Limit::read,
            [&] { out = kl::logsumexp(kl::cast<float>(x), 1); });
  }
  softmax<float>("softmax_f32_1048576", scaled(64), 1 << 20);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) is_noisy = is_noisy || std::string_view(argv[i]) == "noisy";
  const bool good = benchmarks::run(argc, argv, [] {
    if (wanted("sum_f32") || wanted("dot_f32") || wanted("norm_f32") || wanted("mean_var_f32") ||
        wanted("argmax_f32") || wanted("sum_bf16_f32"))
      full_reductions();
    partial_sums();
    rows();
    if (!benchmarks::everything_is_wanted() && wanted("sweep")) sweep();
    return all_right;
  });
  return good ? 0 : 1;
}
