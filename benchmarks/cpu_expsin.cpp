// benchmarks/cpu_expsin.cpp -- exp(a*b) + sin(c)*s over 16 M floats on the CPU, beside a loop compiled by g++ -O3
// -march=native -ffast-math (libmvec). The three candidates take turns, so that a change of clock or load meets all of
// them.
#include <kiln/kiln.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "benchmarks/support/expsin_loop.h"

namespace kl = kiln;

namespace {

template <class F>
double seconds(F&& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

struct Data {
  std::vector<float> a, b, c, out;
  float s = 0.75f;
};

Data make_data(std::size_t n) {
  Data data;
  for (auto* v : {&data.a, &data.b, &data.c, &data.out}) v->resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    data.a[i] = static_cast<float>(i % 1013) / 1013.0f - 0.5f;
    data.b[i] = static_cast<float>(i % 997) / 499.0f - 1.0f;
    data.c[i] = static_cast<float>(i % 4099) / 300.0f - 6.0f;
  }
  return data;
}

void loop_in_threads(Data& data, unsigned threads) {
  const std::size_t n = data.a.size(), part = (n + threads - 1) / threads;
  std::vector<std::thread> workers;
  for (unsigned t = 0; t < threads; ++t) {
    const std::size_t begin = std::min(n, t * part), count = std::min(n, begin + part) - begin;
    workers.emplace_back([&data, begin, count] {
      benchmarks::expsin_loop(&data.a[begin], &data.b[begin], &data.c[begin], data.s, &data.out[begin], count);
    });
  }
  for (std::thread& worker : workers) worker.join();
}

double largest_difference(const std::vector<float>& x, const std::vector<float>& y) {
  double result = 0;
  for (std::size_t i = 0; i < x.size(); ++i) result = std::max(result, std::fabs(double(x[i]) - double(y[i])));
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t n = std::size_t{1} << 24;
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  Data data = make_data(n);
  kl::DeviceGuard guard(kl::Device::cpu());
  kl::Array<float> a = kl::from_host(data.a), b = kl::from_host(data.b), c = kl::from_host(data.c),
                   out({std::int64_t(n)});
  out = kl::exp(a * b) + kl::sin(c) * data.s;
  loop_in_threads(data, threads);
  const double difference = largest_difference(out.to_host(), data.out);

  std::vector<double> ours, parallel, single;
  for (int i = 0; i < rounds; ++i) {
    ours.push_back(seconds([&] {
      out = kl::exp(a * b) + kl::sin(c) * data.s;
      kl::synchronize();
    }));
    parallel.push_back(seconds([&] { loop_in_threads(data, threads); }));
    single.push_back(seconds([&] { loop_in_threads(data, 1); }));
  }
  const double bytes = 4.0 * 4.0 * double(n), t = median(ours), p = median(parallel), s = median(single);
  std::printf("exp(a*b) + sin(c)*s, %zu floats, median of %d interleaved rounds on %s\n", n, rounds,
              kl::Device::cpu().name());
  std::printf("  %-44s %8.2f ms  %6.2f GB/s\n", "kiln", 1e3 * t, 1e-9 * bytes / t);
  std::printf("  g++ -O3 -march=native -ffast-math, %2u threads %8.2f ms  %6.2f GB/s  kiln is %.2f x\n", threads,
              1e3 * p, 1e-9 * bytes / p, p / t);
  std::printf("  g++ -O3 -march=native -ffast-math,  1 thread  %8.2f ms  %6.2f GB/s  kiln is %.2f x\n", 1e3 * s,
              1e-9 * bytes / s, s / t);
  std::printf("  largest difference between the results: %.2g\n", difference);
  return difference < 1e-4 ? 0 : 1;
}
