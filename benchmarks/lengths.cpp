// benchmarks/lengths.cpp -- sizes around the rows of the table: rows of 32 to 1,048,576 and of odd lengths in every
// floating type, few rows, long columns, small arrays, long chains, many inputs and outputs.
//
//   lengths [PART OF A NAME ... | --serve]
#include <kiln/kiln.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "benchmarks/support/measure.h"

namespace kl = kiln;

namespace {

using benchmarks::Limit;
using benchmarks::measure;
using benchmarks::on_gpu;
using benchmarks::random;
using benchmarks::wanted;

/// Elements of the large cases.
std::int64_t many() { return std::int64_t{1} << (on_gpu() ? 27 : 22); }

const std::vector<std::int64_t>& row_lengths() {
  static const std::vector<std::int64_t> lengths = {32,   64,   128,  256,   512,   1000,   1024,   2048,   4096,
                                                    4097, 5120, 8192, 12288, 50257, 128256, 151936, 262144, 1048576};
  return lengths;
}

template <class T>
void rows_of(const char* type, std::int64_t columns, std::int64_t rows) {
  const std::string suffix = std::string(type) + "_" + std::to_string(rows) + "x" + std::to_string(columns);
  if (!wanted("softmax_" + suffix) && !wanted("layernorm_" + suffix) && !wanted("row_sum_" + suffix)) return;
  kl::Array<T> x = random<T>({rows, columns}), y({rows, columns}), weight = random<T>({columns}),
               bias = random<T>({columns}), sums({rows});
  const double bytes = sizeof(T) * double(x.size());
  static const auto softmax = kl::jit([](auto v) {
    auto e = kl::exp(v - kl::max(v, -1, kl::keepdims));
    return e / kl::sum(e, -1, kl::keepdims);
  });
  static const auto layernorm = kl::jit([](auto v, auto w, auto b, auto eps) {
    auto d = v - kl::mean(v, -1, kl::keepdims);
    return d * kl::rsqrt(kl::var(v, -1, kl::keepdims) + eps) * w + b;
  });
  measure("softmax_" + suffix, 2 * bytes, Limit::copy, [&] { softmax.into(y)(x); });
  measure("layernorm_" + suffix, 2 * bytes, Limit::copy, [&] { layernorm.into(y)(x, weight, bias, 1e-5f); });
  measure("row_sum_" + suffix, bytes + sizeof(T) * double(rows), Limit::read, [&] { sums = kl::sum(x, 1); });
}

void row_lengths_of_every_type() {
  for (const std::int64_t columns : row_lengths()) {
    const std::int64_t rows = many() / columns;
    rows_of<kl::bfloat16>("bf16", columns, rows);
    if (columns % 1024 == 0 && columns != 1024 && columns != 4096) continue;  // the others tell the types apart
    rows_of<kl::half>("f16", columns, rows);
    rows_of<float>("f32", columns, rows);
    rows_of<double>("f64", columns, rows / 2);
  }
  for (const std::int64_t rows : {1, 8, 132}) rows_of<float>("f32", 50257, rows);
  // Longer than a cluster holds.
  rows_of<float>("f32", std::int64_t{1} << 22, many() >> 22);
  rows_of<float>("f32", many(), 1);
  rows_of<kl::bfloat16>("bf16", many(), 1);
  rows_of<double>("f64", std::int64_t{1} << 20, many() >> 21);
}

/// Few columns of many rows, and many of few.
void columns_of(std::int64_t rows, std::int64_t columns) {
  const std::string suffix = "_f32_" + std::to_string(rows) + "x" + std::to_string(columns);
  if (!wanted("column_sum" + suffix) && !wanted("column_mean_var" + suffix) && !wanted("column_softmax" + suffix))
    return;
  kl::Array<float> x = random<float>({rows, columns}), y({rows, columns}), mean({columns}), var({columns});
  const double bytes = 4.0 * double(x.size());
  measure("column_sum" + suffix, bytes, Limit::read, [&] { mean = kl::sum(x, 0); });
  measure("column_mean_var" + suffix, bytes, Limit::read,
          [&] { kl::eval(kl::tie(mean, var), kl::mean(x, 0), kl::var(x, 0)); });
  static const auto softmax = kl::jit([](auto v) {
    auto e = kl::exp(v - kl::max(v, 0, kl::keepdims));
    return e / kl::sum(e, 0, kl::keepdims);
  });
  measure("column_softmax" + suffix, 2 * bytes, Limit::copy, [&] { softmax.into(y)(x); });
}

void small_arrays() {
  for (std::int64_t n = 1000; n <= 10'000'000; n *= 10) {
    const std::string suffix = "_f32_" + std::to_string(n);
    kl::Array<float> x = random<float>({n}), y = random<float>({n}), sum;
    measure("small_saxpy" + suffix, 12.0 * double(n), Limit::copy, [&] { y = 0.5f * x + y; });
    measure("small_sum" + suffix, 4.0 * double(n), Limit::read, [&] { sum = kl::sum(x); });
  }
}

/// `steps` multiplications and additions on one element after another.
template <class T>
void chain(const char* type, int steps) {
  const std::string name = "chain_" + std::to_string(steps) + "_" + type;
  if (!wanted(name)) return;
  kl::Array<T> x = random<T>({many()}), y({many()});
  const auto f = kl::jit([=](auto v) {
    auto value = v * T(0.5f) + T(1);
    for (int i = 1; i < steps; ++i) value = value * v + T(1);
    return value;
  });
  measure(name, 2 * sizeof(T) * double(x.size()), Limit::copy, [&] { f.into(y)(x); });
}

void many_inputs_and_outputs() {
  if (!wanted("inputs_8_f32") && !wanted("outputs_4_f32")) return;
  const std::int64_t n = many() / 4;
  std::vector<kl::Array<float>> x;
  for (std::uint64_t i = 0; i < 8; ++i) x.push_back(random<float>({n}, 0, i));
  kl::Array<float> y({n}), z({n}), u({n}), w({n});
  measure("inputs_8_f32", 36.0 * double(n), Limit::copy,
          [&] { y = x[0] * x[1] + x[2] * x[3] + x[4] * x[5] + x[6] * x[7]; });
  measure("outputs_4_f32", 24.0 * double(n), Limit::copy,
          [&] { kl::eval(kl::tie(y, z, u, w), x[0] + x[1], x[0] - x[1], x[0] * x[1], kl::maximum(x[0], x[1])); });
}

}  // namespace

int main(int argc, char** argv) {
  const bool good = benchmarks::run(argc, argv, [] {
    row_lengths_of_every_type();
    for (const auto& [rows, columns] : std::vector<std::pair<std::int64_t, std::int64_t>>{{many() / 3, 3},
                                                                                          {many() / 32, 32},
                                                                                          {many() / 100, 100},
                                                                                          {many() / 1000, 1000},
                                                                                          {4096, many() / 4096},
                                                                                          {16, many() / 16},
                                                                                          {many() / 256, 256},
                                                                                          {1024, 1024},
                                                                                          {2048, 512}})
      columns_of(rows, columns);
    small_arrays();
    for (const int steps : {10, 30}) {
      chain<float>("f32", steps);
      chain<kl::bfloat16>("bf16", steps);
    }
    many_inputs_and_outputs();
    return true;
  });
  return good ? 0 : 1;
}
