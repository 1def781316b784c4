// tests/device/sums_accuracy_test.cpp -- sums of very many f32 hold the bound log2(n) u sum|x| on every path: rows,
// columns, middle axes, everything, running sums, joined exponentials, squared deviations, sums by index.
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/rows.h"

namespace {

using rows::Extents;
using rows::Real;

class SumsAccuracy : public OnEachDevice {};
KILN_ON_EACH_DEVICE(SumsAccuracy);

constexpr Real u = 0x1p-24L;

Real depth_of(std::int64_t n) { return std::max<Real>(1, std::ceil(std::log2(static_cast<Real>(n)))); }

/// Elements of a row of n: each pattern makes some careless order of additions lose far more than a tree does.
struct Pattern {
  const char* name;
  std::function<float(std::int64_t i, std::int64_t n)> at;
};

float noise(std::int64_t i) {
  std::uint64_t x = (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u;
  x ^= x >> 29, x *= 0xbf58476d1ce4e5b9u, x ^= x >> 32;
  return static_cast<float>(x % 65536) / 32768.0f - 1;
}

std::vector<Pattern> patterns() {
  return {{"equal", [](std::int64_t, std::int64_t) { return 0.1f; }},
          {"one large, then what it absorbs", [](std::int64_t i, std::int64_t) { return i == 0 ? 1.0f : 0x1.8p-26f; }},
          {"each smaller", [](std::int64_t i, std::int64_t n) { return 1 / (1 + 1e-3f * static_cast<float>(i % n)); }},
          {"cancelling", [](std::int64_t i, std::int64_t) { return (i % 2 ? -1e4f : 1e4f) + noise(i); }},
          {"random", [](std::int64_t i, std::int64_t) { return noise(i); }}};
}

struct Sum {
  Real value = 0, magnitude = 0;
  void add(float x) { value += x, magnitude += std::fabs(x); }
};

/// Elements of a tensor [outer, n, inner], the same pattern along the middle axis, scaled differently beside it.
std::vector<float> elements(const Pattern& pattern, std::int64_t outer, std::int64_t n, std::int64_t inner) {
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(outer * n * inner));
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < n; ++i) {
      const float x = pattern.at(i, n);
      for (std::int64_t k = 0; k < inner; ++k) values.push_back(x * (1 + 0.25f * static_cast<float>((o + k) % 3)));
    }
  }
  return values;
}

std::vector<Sum> sums_of(const std::vector<float>& values, std::int64_t outer, std::int64_t n, std::int64_t inner) {
  std::vector<Sum> sums(static_cast<std::size_t>(outer * inner));
  std::size_t at = 0;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t k = 0; k < inner; ++k) sums[static_cast<std::size_t>(o * inner + k)].add(values[at++]);
    }
  }
  return sums;
}

struct Case {
  std::int64_t outer, n, inner;
};
const Case cases[] = {{1, 10'000'000, 1}, {3, 1'000'003, 1}, {40, 100'000, 1}, {1000, 4099, 1},
                      {60'000, 17, 1},    {1, 1'000'000, 4}, {1, 300'001, 3},  {1, 4099, 500},
                      {1, 17, 60'000},    {5, 40'000, 9},    {300, 33, 40},    {2, 65'537, 8}};

std::string text_of(const Pattern& pattern, const Case& c) {
  return std::string(pattern.name) + ", shape " + std::to_string(c.outer) + " x " + std::to_string(c.n) + " x " +
         std::to_string(c.inner);
}

void expect_sums(const std::string& rule, const std::vector<float>& got, const std::vector<Sum>& want, std::int64_t n) {
  ASSERT_EQ(got.size(), want.size()) << rule;
  int failures = 0;
  for (std::size_t k = 0; k < want.size() && failures < 2; ++k) {
    const Real error = std::fabs(got[k] - want[k].value);
    const bool ok = error <= depth_of(n) * u * want[k].magnitude;
    EXPECT_TRUE(ok) << rule << ": sum " << k << " is off by " << static_cast<double>(error / (u * want[k].magnitude))
                    << " u sum|x|, more than " << static_cast<double>(depth_of(n));
    failures += !ok;
  }
}

// Rule (api.md, meaning of operations): an f32 sum of n values is off by at most log2(n) u sum|x|.
TEST_P(SumsAccuracy, sums_along_any_axis) {
  for (const Pattern& pattern : patterns()) {
    for (const Case& c : cases) {
      const std::vector<float> values = elements(pattern, c.outer, c.n, c.inner);
      const std::vector<Sum> want = sums_of(values, c.outer, c.n, c.inner);
      const kl::Array<float> x = kl::from_host(values, {c.outer, c.n, c.inner});
      expect_sums(text_of(pattern, c), kl::eval(kl::sum(x, 1)).to_host(), want, c.n);
      Sum all;
      for (const float v : values) all.add(v);
      expect_sums("all of " + text_of(pattern, c), {kl::sum(x).item()}, {all}, c.outer * c.n * c.inner);
    }
  }
}

// Rule: the same of sums beside other reductions in one pass, and of sums of products.
TEST_P(SumsAccuracy, sums_beside_others) {
  for (const Pattern& pattern : patterns()) {
    constexpr std::int64_t n = 2'000'000;
    const std::vector<float> values = elements(pattern, 1, n, 1);
    const kl::Array<float> x = kl::from_host(values);
    const std::vector<Sum> want = sums_of(values, 1, n, 1);
    Sum squares;
    float largest = values[0];
    for (const float v : values) squares.add(v * v), largest = std::max(largest, v);
    kl::Array<float> sum, square, most;
    kl::eval(kl::tie(sum, square, most), kl::sum(x), kl::sum(x * x), kl::max(x));
    expect_sums(std::string("beside others: ") + pattern.name, sum.to_host(), want, n);
    // Each product is rounded once, unless it is contracted into an addition.
    expect_sums(std::string("of squares: ") + pattern.name, square.to_host(), {squares}, 2 * n);
    EXPECT_EQ(most.item(), largest) << pattern.name;
  }
}

// Rule: each element of a running sum holds the bound of a sum of the whole row.
TEST_P(SumsAccuracy, running_sums) {
  const Case scans[] = {{1, 5'000'000, 1}, {30, 100'003, 1}, {3000, 700, 1}, {1, 500'000, 4}, {4, 30'000, 10}};
  for (const Pattern& pattern : patterns()) {
    for (const Case& c : scans) {
      const std::vector<float> values = elements(pattern, c.outer, c.n, c.inner);
      const kl::Array<float> x = kl::from_host(values, {c.outer, c.n, c.inner});
      const std::vector<float> got = kl::eval(kl::cumsum(x, 1)).to_host();
      Real worst = 0;
      for (std::int64_t o = 0; o < c.outer; ++o) {
        for (std::int64_t k = 0; k < c.inner; ++k) {
          Sum prefix;
          for (std::int64_t i = 0; i < c.n; ++i) {
            const auto at = static_cast<std::size_t>((o * c.n + i) * c.inner + k);
            prefix.add(values[at]);
            worst = std::max(worst, std::fabs(got[at] - prefix.value) / (u * prefix.magnitude));
          }
        }
      }
      EXPECT_LE(worst, depth_of(c.n)) << text_of(pattern, c);
    }
  }
}

/// Exponents below the largest of a row.
std::vector<Pattern> exponents() {
  return {
      {"all but one equal", [](std::int64_t i, std::int64_t n) { return i == n / 3 ? 0.0f : -0.3f; }},
      {"all but one equal, further away", [](std::int64_t i, std::int64_t) { return i == 5 ? 100.0f : 98.7f; }},
      {"slowly ascending",
       [](std::int64_t i, std::int64_t n) { return static_cast<float>(i) / static_cast<float>(n); }},
      {"ascending by steps of a unit", [](std::int64_t i, std::int64_t n) { return static_cast<float>(i * 40 / n); }},
      {"slowly descending",
       [](std::int64_t i, std::int64_t n) { return 3 - 2 * static_cast<float>(i) / static_cast<float>(n); }},
      {"ascending and far from zero",
       [](std::int64_t i, std::int64_t n) { return -5000 + 4 * static_cast<float>(i) / static_cast<float>(n); }},
      {"random", [](std::int64_t i, std::int64_t) { return 4 * noise(i); }}};
}

/// Of a row: its maximum, the sum of exp(x - maximum), and what the terms may be off by: 4 u of a function, and twice
/// the rounding of x - maximum, which a maximum found on the way is larger by up to 1.
struct Exponentials {
  Real largest = -std::numeric_limits<Real>::infinity(), sum = 0, terms = 0;
};
Exponentials exponentials_of(const std::vector<float>& values, std::int64_t first, std::int64_t n, std::int64_t step) {
  Exponentials e;
  const auto at = [&](std::int64_t i) { return static_cast<Real>(values[static_cast<std::size_t>(first + i * step)]); };
  for (std::int64_t i = 0; i < n; ++i) e.largest = std::max(e.largest, at(i));
  for (std::int64_t i = 0; i < n; ++i) {
    const Real below = at(i) - e.largest, term = static_cast<Real>(std::exp(static_cast<double>(below)));
    e.sum += term;
    e.terms += u * term * (5 + 2 * std::fabs(below));
  }
  return e;
}

// Rule: the sum of exp(x - max(x)) holds the bound of a sum beside the errors of its terms, however it is found: a
// maximum that grows on the way must not round what was summed before again and again.
TEST_P(SumsAccuracy, sums_of_exponentials) {
  const auto row_sums = kl::jit([](auto x) {
    const auto largest = kl::max(x, 1, kl::keepdims);
    return kl::sum(kl::exp(x - largest), 1);
  });
  for (const Pattern& pattern : exponents()) {
    for (const Case& c : {Case{1, 10'000'000, 1}, Case{2, 1'000'000, 1}, Case{20, 100'000, 1}, Case{1, 300'000, 4},
                          Case{3, 20'000, 5}}) {
      std::vector<float> values;
      for (std::int64_t o = 0; o < c.outer; ++o) {
        for (std::int64_t i = 0; i < c.n; ++i)
          values.insert(values.end(), static_cast<std::size_t>(c.inner), pattern.at(i, c.n));
      }
      const kl::Array<float> x = kl::from_host(values, {c.outer, c.n, c.inner});
      const Exponentials want = exponentials_of(values, 0, c.n, c.inner);
      const Real error = depth_of(c.n) * u * want.sum + want.terms;
      const std::string rule = text_of(pattern, c);
      const std::vector<float> sums = row_sums(x).to_host();
      EXPECT_LE(std::fabs(sums.back() - want.sum), error)
          << rule << ": off by " << static_cast<double>(std::fabs(sums.back() - want.sum) / (u * want.sum)) << " u";
      const std::vector<float> logs = kl::eval(kl::logsumexp(x, 1)).to_host();
      const Real log = std::log(want.sum) + want.largest;
      EXPECT_LE(std::fabs(logs.back() - log), error / want.sum + u * (4 * std::log(want.sum) + 1 + std::fabs(log)))
          << rule << ", logsumexp: off by " << static_cast<double>(std::fabs(logs.back() - log) / u) << " u";
    }
  }
}

// Rule: var subtracts the mean first, and holds the bound of a sum of squared deviations, with a large mean too.
TEST_P(SumsAccuracy, variances) {
  for (const Pattern& pattern : patterns()) {
    for (const Case& c : {Case{1, 10'000'000, 1}, Case{20, 100'003, 1}, Case{1, 300'001, 4}, Case{3, 40'000, 5}}) {
      std::vector<float> values = elements(pattern, c.outer, c.n, c.inner);
      for (float& v : values) v += 1000;
      const kl::Array<float> x = kl::from_host(values, {c.outer, c.n, c.inner});
      const std::vector<float> got = kl::eval(kl::var(x, 1)).to_host();
      const std::vector<Sum> sums = sums_of(values, c.outer, c.n, c.inner);
      for (std::int64_t k = 0; k < c.inner; ++k) {
        const Real n = static_cast<Real>(c.n), mean = sums[static_cast<std::size_t>(k)].value / n;
        Real squares = 0, largest = 0;
        for (std::int64_t i = 0; i < c.n; ++i) {
          const Real d = values[static_cast<std::size_t>(i * c.inner + k)] - mean;
          squares += d * d, largest = std::max(largest, std::fabs(mean + d));
        }
        // Each difference rounds (2 u of it); the mean is off by at most log2(n) u of the largest, which enters
        // squared. On a GPU means are joined by quotients, whose roundings also count: up to 2.2 times as much.
        const Real shift = (on_gpu() ? 2.2L : 1) * depth_of(c.n) * u * largest;
        const Real error = (depth_of(c.n) + 6) * u * squares / n + shift * shift;
        const Real off = std::fabs(got[static_cast<std::size_t>(k)] - squares / n);
        EXPECT_LE(off, error) << text_of(pattern, c) << ": off by " << static_cast<double>(off * n / (u * squares))
                              << " u of the variance";
      }
    }
  }
}

// Rule: sums by index of n values hold the bound of a sum of them, whatever share of the values meets in one place.
TEST_P(SumsAccuracy, sums_by_index) {
  constexpr std::int64_t n = 3'000'000;
  for (const Pattern& pattern : patterns()) {
    for (const std::int64_t bins : {1, 7, 100'000}) {
      std::vector<float> values;
      std::vector<std::int64_t> places;
      std::vector<Sum> want(static_cast<std::size_t>(bins));
      for (std::int64_t i = 0; i < n; ++i) {
        values.push_back(pattern.at(i, n));
        places.push_back(i % 5 == 0 ? i / 5 % bins : 0);
        want[static_cast<std::size_t>(places.back())].add(values.back());
      }
      kl::Array<float> sums = kl::zeros<float>({bins});
      kl::scatter_add(sums, kl::from_host(places), kl::from_host(values));
      expect_sums(std::string(pattern.name) + " by index, " + std::to_string(bins) + " places", sums.to_host(), want,
                  n);
    }
  }
}

// Rule: the same in f64, whose sums no wider type could hold.
TEST_P(SumsAccuracy, sums_by_index_in_f64) {
  constexpr std::int64_t n = 2'000'000;
  const std::vector<double> values(n, 0.1);
  const std::vector<std::int64_t> places(n, 1);
  kl::Array<double> sums = kl::zeros<double>({3}), of_one = kl::zeros<double>({3});
  kl::scatter_add(sums, kl::from_host(places), kl::from_host(values));
  kl::scatter_add(of_one, kl::from_host(places), 0.1);
  const Real want = static_cast<Real>(n) * 0.1, bound = depth_of(n) * 0x1p-53L * want;
  EXPECT_LE(std::fabs(sums.to_host()[1] - want), bound);
  EXPECT_LE(std::fabs(of_one.to_host()[1] - want), bound);
}

}  // namespace
