// examples/support/report.h -- what the programs of examples/llm share: options, a table of times, checked rows.
#pragma once

#include <kiln/kiln.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace examples {

/// --size N: the number of rows (tokens); --save DIRECTORY: operands and results as .npy files for another program.
struct Options {
  std::int64_t size = 0;
  std::string save;
};

inline bool on_gpu() { return kiln::Device::current().kind() == kiln::DeviceKind::cuda; }

/// Without --size a GPU gets its own size, which keeps it busy.
inline Options parse(int argc, char** argv, std::int64_t cpu_size, std::int64_t gpu_size) {
  Options options{on_gpu() ? gpu_size : cpu_size, ""};
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--size")) options.size = std::atoll(argv[i + 1]);
    if (!std::strcmp(argv[i], "--save")) options.save = argv[i + 1];
  }
  return options;
}

/// One line per operation: kernels, time, bytes that must move over time, worst error against the reference.
class Table {
 public:
  explicit Table(const char* title) {
    std::printf("%s on %s\n", title, kiln::Device::current().name());
    std::printf("%-40s  %8s  %10s  %8s  %10s  %8s\n", "operation", "kernels", "ms", "GB/s", "error", "allowed");
  }
  /// Runs `run` once, then for the time. `error` is called after the first run: in-place results are those of one run.
  template <class Run, class Error>
  void row(const char* name, double bytes, double allowed, const Run& run, const Error& error) {
    const kiln::Graph recorded = kiln::capture(run);
    run();
    const double worst = error();
    const int repeats = on_gpu() ? 20 : 2;
    kiln::synchronize();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i) run();
    kiln::synchronize();
    const double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count() / repeats;
    const bool passed = worst <= allowed;  // false for NaN
    failed_ += !passed;
    std::printf("%-40s  %8u  %10.4f  %8.1f  %10.2e  %8.1e%s\n", name, recorded.kernels(), ms, 1e-6 * bytes / ms, worst,
                allowed, passed ? "" : "  WRONG");
  }
  int status() const { return failed_ ? 1 : 0; }

 private:
  int failed_ = 0;
};

/// Row `r` of a matrix, or of all but the last axis taken as one, as doubles.
template <class T>
std::vector<double> row_of(const kiln::Array<T>& x, std::int64_t r) {
  const std::int64_t length = x.shape()[x.ndim() - 1];
  const std::vector<T> values = kiln::eval(x.reshape({-1, length})(r, kiln::all)).to_host();
  std::vector<double> wide;
  for (const T& value : values) wide.push_back(static_cast<double>(static_cast<float>(value)));
  return wide;
}

/// Some of `rows` rows, the first and the last among them: references are plain loops, and slow.
inline std::vector<std::int64_t> sample(std::int64_t rows, std::int64_t count = 16) {
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < count && i < rows; ++i)
    chosen.push_back(rows <= count ? i : i * (rows - 1) / (count - 1));
  return chosen;
}

/// The largest difference, where values above 1 count relative to their size.
inline double difference(const std::vector<double>& got, const std::vector<double>& expected) {
  if (got.size() != expected.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isinf(got[i]) && got[i] == expected[i]) continue;
    const double error = std::fabs(got[i] - expected[i]) / std::fmax(1.0, std::fabs(expected[i]));
    if (!(error <= worst)) worst = std::isnan(error) ? INFINITY : error;
  }
  return worst;
}

/// Writes DIRECTORY/NAME.npy where --save was given.
template <class T>
void save(const Options& options, const char* name, const kiln::Array<T>& x) {
  if (!options.save.empty()) kiln::save_npy((options.save + "/" + name + ".npy").c_str(), x);
}

}  // namespace examples
