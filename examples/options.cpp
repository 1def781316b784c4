// examples/options.cpp -- Monte Carlo prices of options against their closed forms; all random numbers stay in
// registers.
//
//   options [--size paths] [--steps n]
//
// A kernel makes paths of a share price step by step (kl::repeat, Philox), and from each what two options pay at the
// end: a call on the price, and one on the geometric mean of all prices on the way. Both have closed forms. Memory sees
// the sums alone.
#include <kiln/kiln.h>
#include <kiln/random_at.h>
#include <kiln/repeat.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace kl = kiln;

constexpr double spot = 100, rate = 0.03, volatility = 0.25, years = 1;

// Rows are strikes, columns paths. A path is named by its counter, so no two of them use one random number.
const auto simulate =
    kl::jit("simulate", [](auto strikes, auto paths, auto steps, auto seed, auto drift, auto deviation, auto discount) {
      auto path = kl::index(paths, 1) + kl::index(strikes, 0) * paths.shape()[1];
      auto first = path * steps;  // i64
      auto start = 0.0f * strikes + 0.0f * kl::cast<float>(path);
      auto [log_price, log_sum, counter] =
          kl::repeat(steps, std::tuple(start, start, first), [&](auto price, auto sum, auto at) {
            auto next = price + drift + deviation * kl::random::normal_at(at, seed);
            return std::tuple(next, sum + next, at + 1);
          });
      auto n = kl::cast<float>(steps);
      auto call = discount * kl::maximum(float(spot) * kl::exp(log_price) - strikes, 0.0f);
      auto mean = discount * kl::maximum(float(spot) * kl::exp(log_sum / n) - strikes, 0.0f);
      return std::tuple(kl::mean(call, 1), kl::std_(call, 1), kl::mean(mean, 1), kl::std_(mean, 1));
    });

double normal(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// A call on a price whose logarithm is normal with this mean and deviation at the end.
double lognormal_call(double strike, double mean, double deviation) {
  const double d = (mean - std::log(strike)) / deviation;
  return std::exp(-rate * years) *
         (std::exp(mean + 0.5 * deviation * deviation) * normal(d + deviation) - strike * normal(d));
}

double black_scholes(double strike) {
  return lognormal_call(strike, std::log(spot) + (rate - 0.5 * volatility * volatility) * years,
                        volatility * std::sqrt(years));
}

/// The geometric mean of prices at n times is lognormal, too.
double geometric_asian(double strike, double n) {
  const double mean = std::log(spot) + (rate - 0.5 * volatility * volatility) * years * (n + 1) / (2 * n);
  return lognormal_call(strike, mean, volatility * std::sqrt(years * (n + 1) * (2 * n + 1) / (6 * n * n)));
}

int main(int argc, char** argv) {
  const bool gpu = kl::Device::current().kind() == kl::DeviceKind::cuda;
  std::int64_t paths = gpu ? 1 << 24 : 1 << 15, steps = gpu ? 252 : 12;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--size") paths = std::atoll(argv[i + 1]);
    if (std::string(argv[i]) == "--steps") steps = std::atoll(argv[i + 1]);
  }
  const std::vector<float> strikes = {80, 90, 100, 110, 120};
  const kl::Array<float> strike_column = kl::from_host(strikes, {std::int64_t(strikes.size()), 1});
  const kl::Array<float> one = kl::zeros<float>({1, 1});  // lends its shape: it is not read
  const double step = years / double(steps);
  const auto run = [&] {
    return simulate(strike_column, one.broadcast_to({1, paths}), static_cast<int>(steps), 2024,
                    float((rate - 0.5 * volatility * volatility) * step), float(volatility * std::sqrt(step)),
                    float(std::exp(-rate * years)));
  };
  run();
  kl::synchronize();
  const auto begin = std::chrono::steady_clock::now();
  const auto [call, call_spread, mean, mean_spread] = run();
  kl::synchronize();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  std::printf("device: %s; %lld paths of %lld steps for each strike\n", kl::Device::current().name(),
              static_cast<long long>(paths), static_cast<long long>(steps));
  std::printf("%8s  %22s  %8s  %22s  %8s\n", "strike", "call", "exact", "call on the mean", "exact");
  bool good = true;
  for (std::size_t k = 0; k < strikes.size(); ++k) {
    const double root = std::sqrt(double(paths)), strike = double(strikes[k]);
    const double exact[] = {black_scholes(strike), geometric_asian(strike, double(steps))};
    const double got[] = {double(call.to_host()[k]), double(mean.to_host()[k])};
    const double error[] = {double(call_spread.to_host()[k]) / root, double(mean_spread.to_host()[k]) / root};
    std::printf("%8.0f  %10.4f +- %8.4f  %8.4f  %10.4f +- %8.4f  %8.4f\n", strike, got[0], error[0], exact[0], got[1],
                error[1], exact[1]);
    // Four standard errors, and what f32 does to logarithms that are added up step by step.
    for (int i = 0; i < 2; ++i) good &= std::fabs(got[i] - exact[i]) < 4 * error[i] + 2e-5 * spot;
  }
  std::printf("%.3f ms, %.2f billion random numbers per second\n", 1e3 * seconds,
              1e-9 * double(paths) * double(steps) * double(strikes.size()) / seconds);
  return good ? 0 : 1;
}
