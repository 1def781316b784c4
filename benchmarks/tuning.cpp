// benchmarks/tuning.cpp -- what tuning gains: the heuristic schedule, what real calls tuned online, and the best of an
// exhaustive sweep, for representative kernels; and whether every candidate gives the same bits.
//
//   tuning [PART OF A NAME] ... [small] [full] [most=48]
//
// `small`: a 64th of the elements, for machines that only check the program. `full`: the sweep goes over schedules that
// join elements in other orders, too, whose bits may differ. `most`: schedules of the sweep; programs try 12.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include <kiln/kiln.h>
#include <kiln/tuning.h>

#include "benchmarks/support/measure.h"

namespace kl = kiln;

namespace {

using benchmarks::milliseconds;
using benchmarks::random;
using kl::bfloat16;

bool small = false, full = false;
unsigned most = 48;
std::vector<std::string> parts;

bool wanted(const std::string& name) {
  return parts.empty() || std::any_of(parts.begin(), parts.end(),
                                      [&](const std::string& part) { return name.find(part) != std::string::npos; });
}

std::int64_t scaled(std::int64_t n) { return small ? std::max<std::int64_t>(n / 64, 1) : n; }

using Launch = std::function<void()>;
/// A compiled function of its own: it captures something, so its plans are not those of another one.
struct Compiled {
  Launch launch;
  std::function<std::string()> schedule;
};
struct Case {
  std::string name;
  double bytes;
  std::function<Compiled()> compile;
  std::function<void()> keep;                 ///< the result at hand is what others are compared with
  std::function<std::int64_t()> differences;  ///< 32-bit words that are not those
};

template <class T>
kl::View<std::int32_t> words(kl::Array<T>& x) {
  return kl::view(reinterpret_cast<std::int32_t*>(x.data()),
                  {static_cast<std::int64_t>(static_cast<std::size_t>(x.size()) * sizeof(T) / 4)}, {1}, x.device());
}

/// f is made by `make()` anew each time; it writes y.
template <class T, class Make, class... A>
Case make_case(const std::string& name, double bytes, kl::Array<T>& y, kl::Array<T>& kept, Make make, const A&... a) {
  const auto compile = [make, &y, &a...] {
    const auto f = make();
    return Compiled{[f, &y, &a...] { f.into(y)(a...); },
                    [f, &a...] { return std::string(f.inspect(a...).kernels[0].schedule.c_str()); }};
  };
  return {name, bytes, compile, [&y, &kept] { kept = y.clone(); },
          [&y, &kept] { return kl::count_nonzero(words(y) != words(kept)).item(); }};
}

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

double median_of(const Launch& launch, int runs) {
  for (int i = 0; i < 3; ++i) launch();
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) times.push_back(milliseconds(launch));
  return median(times);
}

struct Swept {
  int best = 0, candidates = 1;
  double first_ms = 0, best_ms = 0;
  std::int64_t differences = 0;
  Compiled heuristic, winner;
  std::string schedule;
};

/// Every candidate by itself, and what each computed beside what the heuristic's schedule computed.
Swept sweep(const Case& c) {
  Swept result;
  for (int number = 0; number < result.candidates; ++number) {
    const Compiled compiled = c.compile();
    {
      const kl::tuning::ImposedCandidate imposed(number, full, most);
      compiled.launch();
      kl::synchronize();
      if (number == 0) result.candidates = std::max(1, kl::tuning::ImposedCandidate::candidates());
    }
    if (number == 0) {
      c.keep();
      result.heuristic = compiled;
    } else {
      result.differences += c.differences();
    }
    const double time = median_of(compiled.launch, 15);
    if (number == 0) result.first_ms = time;
    if (number > 0 && time >= result.best_ms) continue;
    result.best = number, result.best_ms = time, result.winner = compiled;
    const kl::tuning::ImposedCandidate imposed(number, full, most);
    result.schedule = compiled.schedule();
  }
  return result;
}

struct Tuned {
  Compiled compiled;
  int calls = 0;
  double seconds = 0;
  std::int64_t differences = 0;
};

/// Real calls until everything is decided. Only the first wait is the benchmark's: for the compiler.
Tuned tune(const Case& c) {
  constexpr int most_calls = 20000;
  const kl::tuning::Afresh afresh;
  const std::size_t others = kl::tuning::undecided_kernels();  // of what prepares arrays and compares them
  const auto begin = std::chrono::steady_clock::now();
  Tuned tuned{c.compile()};
  do {
    tuned.compiled.launch();
    if (++tuned.calls % 8 == 0) kl::synchronize();
    if (tuned.calls == 64) kl::tuning::finish_compiling();
  } while (kl::tuning::undecided_kernels() > others && tuned.calls < most_calls);
  kl::synchronize();
  tuned.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  tuned.differences = c.differences();
  kl::tuning::finish_compiling();
  return tuned;
}

using Records = std::vector<kl::tuning::TunedKernel>;

/// What was found since `before`.
std::string new_records(const Records& before) {
  std::string text;
  for (const kl::tuning::TunedKernel& kernel : kl::tuning::records()) {
    const bool is_old = std::any_of(before.begin(), before.end(), [&](const auto& old) {
      return std::string(old.kernel) == kernel.kernel && old.size == kernel.size && old.date == kernel.date &&
             old.choice_us == kernel.choice_us && old.heuristic_us == kernel.heuristic_us;
    });
    if (is_old) continue;
    char line[512];
    std::snprintf(line, sizeof line, "\n      record: %s -> %s, %.2f -> %.2f us, %u runs", kernel.heuristic,
                  std::string(kernel.choice) == kernel.heuristic ? "the same" : kernel.choice, kernel.heuristic_us,
                  kernel.choice_us, kernel.runs);
    text += line;
  }
  return text;
}

/// The three side by side in turns, so that clocks and neighbours treat them alike.
std::vector<double> compare(const std::vector<Launch>& launches) {
  std::vector<std::vector<double>> times(launches.size());
  for (int round = 0; round < 43; ++round) {
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const double time = milliseconds(launches[i]);
      if (round >= 2) times[i].push_back(time);
    }
  }
  std::vector<double> medians;
  for (const auto& of_one : times) medians.push_back(median(of_one));
  return medians;
}

double worst_tuned = 1, worst_heuristic = 1;
int wrong = 0;

void run(const Case& c) {
  if (!wanted(c.name)) return;
  const Swept swept = sweep(c);
  const Records before = kl::tuning::records();
  const Tuned tuned = tune(c);
  const std::vector<double> t = compare({swept.heuristic.launch, tuned.compiled.launch, swept.winner.launch});
  const double of_tuned = t[1] / std::min(t[1], t[2]), of_heuristic = t[0] / std::min({t[0], t[1], t[2]});
  worst_tuned = std::max(worst_tuned, of_tuned);
  worst_heuristic = std::max(worst_heuristic, of_heuristic);
  const std::int64_t differences = tuned.differences + (full ? 0 : swept.differences);
  wrong += differences != 0;
  std::printf(
      "%-22s heuristic %9.2f us  tuned %9.2f us  sweep %9.2f us (%d of %d)  %5.0f GB/s  tuned/best %.3f  "
      "heuristic/best %.3f  %4d calls %5.1f s  bits %s\n",
      c.name.c_str(), 1e3 * t[0], 1e3 * t[1], 1e3 * t[2], swept.best, swept.candidates, 1e-6 * c.bytes / t[1], of_tuned,
      of_heuristic, tuned.calls, tuned.seconds, differences == 0 ? "equal" : "DIFFER");
  std::printf("      sweep: %s%s\n", swept.schedule.c_str(), new_records(before).c_str());
  std::fflush(stdout);
}

void elementwise() {
  const std::int64_t n = scaled(std::int64_t{1} << 27);
  {
    kl::Array<float> x = random<float>({n}), z = random<float>({n}, 1, 8), y({n}), kept;
    run(make_case(
        "saxpy_f32", 12.0 * double(n), y, kept,
        [] { return kl::jit([id = 1](auto a, auto b, auto s) { return (void)id, a * s + b; }); }, x, z, 2.5f));
    kl::Array<bfloat16> g = random<bfloat16>({2 * n}, -0.5f), h({2 * n}), kept_h;
    run(make_case(
        "gelu_bf16", 8.0 * double(n), h, kept_h,
        [] { return kl::jit([id = 1](auto a) { return (void)id, kl::gelu(a); }); }, g));
  }
  {
    kl::Array<double> x = random<double>({n / 2}), z = random<double>({n / 2}, 1, 8), y({n / 2}), kept;
    run(make_case(
        "triad_f64", 12.0 * double(n), y, kept,
        [] { return kl::jit([id = 1](auto a, auto b, auto s) { return (void)id, a * s + b; }); }, x, z, 2.5));
  }
  {
    kl::Array<float> x = random<float>({n / 8192, 16384}), y({n / 8192, 8192}), kept;
    const auto every_other = x(kl::all, kl::range(0, 16384, 2));
    run(make_case(
        "strided_f32", 8.0 * double(n), y, kept,
        [] { return kl::jit([id = 1](auto a) { return (void)id, a * 2.0f + 1.0f; }); }, every_other));
  }
  {
    kl::Array<float> x = random<float>({n / 8192, 8192}), b = random<float>({8192}), y({n / 8192, 8192}), kept;
    run(make_case(
        "broadcast_f32", 8.0 * double(n), y, kept,
        [] { return kl::jit([id = 1](auto a, auto r) { return (void)id, kl::relu(a + r); }); }, x, b));
  }
}

void rows() {
  const std::int64_t count = scaled(65536), columns = 4096;
  {
    kl::Array<bfloat16> x = random<bfloat16>({count, columns}), w = random<bfloat16>({columns}), y({count, columns}),
                        kept;
    run(make_case(
        "softmax_bf16", 4.0 * double(x.size()), y, kept,
        [] {
          return kl::jit([id = 1](auto v) {
            auto e = kl::exp(v - kl::max(v, -1, kl::keepdims));
            return (void)id, e / kl::sum(e, -1, kl::keepdims);
          });
        },
        x));
    run(make_case(
        "rms_norm_bf16", 4.0 * double(x.size()), y, kept,
        [] {
          return kl::jit([id = 1](auto v, auto weight, auto eps) {
            return (void)id, v * kl::rsqrt(kl::mean(v * v, -1, kl::keepdims) + eps) * weight;
          });
        },
        x, w, 1e-5f));
  }
  kl::Array<float> x = random<float>({scaled(16384), 16384}, -0.5f);
  const double bytes = 4.0 * double(x.size());
  {
    const auto long_rows = x.reshape({scaled(16384) / 64, std::int64_t{1} << 20});
    kl::Array<float> y({long_rows.shape()[0]}), kept;
    run(make_case(
        "long_rows_sum_f32", bytes, y, kept,
        [] { return kl::jit([id = 1](auto v) { return (void)id, kl::sum(v, -1); }); }, long_rows));
  }
  {
    kl::Array<float> y(kl::Shape{}), kept;
    run(make_case(
        "full_sum_f32", bytes, y, kept, [] { return kl::jit([id = 1](auto v) { return (void)id, kl::sum(v); }); }, x));
  }
  {
    kl::Array<float> y({16384}), kept;
    run(make_case(
        "column_sum_f32", bytes, y, kept, [] { return kl::jit([id = 1](auto v) { return (void)id, kl::sum(v, 0); }); },
        x));
  }
  {
    kl::Array<float> y(x.shape()), kept;
    run(make_case(
        "cumsum_f32", 2 * bytes, y, kept,
        [] { return kl::jit([id = 1](auto v) { return (void)id, kl::cumsum(v, 1); }); }, x));
  }
}

void planes() {
  const std::int64_t count = scaled(16384), columns = 8192;
  kl::Array<float> x = random<float>({count, columns}), y({count, columns}), kept;
  run(make_case(
      "stencil_f32", 8.0 * double(x.size()), y, kept,
      [] {
        return kl::jit([id = 1](auto v) {
          return (void)id, kl::shift(v, {0, 1}, kl::clamp) + kl::shift(v, {0, -1}, kl::clamp) +
                               kl::shift(v, {1, 0}, kl::clamp) + kl::shift(v, {-1, 0}, kl::clamp) - 4.0f * v;
        });
      },
      x));
  kl::Array<float> turned = random<float>({columns, count});
  run(make_case(
      "transpose_add_f32", 12.0 * double(x.size()), y, kept,
      [] { return kl::jit([id = 1](auto v, auto u) { return (void)id, v + u.t(); }); }, x, turned));
}

void black_scholes() {
  const std::int64_t n = scaled(std::int64_t{1} << 26);
  kl::Array<float> spot = kl::eval(random<float>({n}) * 25.0f + 5.0f),
                   strike = kl::eval(random<float>({n}, 0, 8) * 99.0f + 1.0f),
                   years = kl::eval(random<float>({n}, 0, 9) * 9.75f + 0.25f), call({n}), kept;
  run(make_case(
      "black_scholes_f32", 16.0 * double(n), call, kept,
      [] {
        return kl::jit([id = 1](auto s, auto x, auto t, auto rate, auto volatility) {
          const auto normal = [](auto d) { return 0.5f * kl::erfc(d * -0.7071067811865476f); };
          auto deviation = volatility * kl::sqrt(t);
          auto d1 = (kl::log(s / x) + (rate + 0.5f * volatility * volatility) * t) / deviation;
          return (void)id, s * normal(d1) - x * kl::exp(-rate * t) * normal(d1 - deviation);
        });
      },
      spot, strike, years, 0.02f, 0.3f));
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "small") {
      small = true;
    } else if (argument == "full") {
      full = true;
    } else if (argument.starts_with("most=")) {
      most = static_cast<unsigned>(std::max(1, std::atoi(argument.c_str() + 5)));
    } else {
      parts.push_back(argument);
    }
  }
  setenv("KILN_TUNE", full ? "full" : "on", 1);
  benchmarks::start();
  elementwise();
  rows();
  planes();
  black_scholes();
  std::printf("worst tuned/best %.3f, worst heuristic/best %.3f; %s\n", worst_tuned, worst_heuristic,
              wrong == 0 ? "all bits equal" : "SOME BITS DIFFER");
  return wrong == 0 ? 0 : 1;
}
