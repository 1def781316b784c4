// tests/fuzz/statements_calls.cpp -- random calls of ufuncs, gufuncs that take by index and user functions of several
// statements, against loops.
#include <algorithm>

#include "tests/fuzz/statement_values.h"
#include "tests/fuzz/statements.h"

namespace fuzz {
namespace {

using Extents = std::vector<std::int64_t>;
using Doubles = std::vector<double>;
using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;

std::size_t place(std::int64_t n) { return static_cast<std::size_t>(n); }

template <class T>
std::string differing(const std::string& what, const std::vector<T>& got, const std::vector<T>& want,
                      double tolerance) {
  if (got.size() != want.size()) return what + ": another number of elements";
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto g = static_cast<double>(got[i]), w = static_cast<double>(want[i]);
    if (g == w || (std::isnan(g) && std::isnan(w)) || std::fabs(g - w) <= tolerance * (1 + std::fabs(w))) continue;
    return fmt::format("{}: element {} of {} is {}, expected {}", what, i, got.size(), g, w);
  }
  return {};
}

// A function that is associative and commutative, but none that kiln knows: modulo 2^32 it is exact.
const auto twist = kl::ufunc([](auto a, auto b) { return a + b + a * b; });
const char* const twist_text = "[](auto a, auto b) { return a + b + a * b; }";
std::uint32_t twisted(std::uint32_t a, std::uint32_t b) { return a + b + a * b; }
// Associative, but not commutative: of the later of two that are not negative.
const auto later = kl::ufunc([](auto a, auto b) { return kl::where(b < 0, a, b); });
const char* const later_text = "[](auto a, auto b) { return kl::where(b < 0, a, b); }";

std::string reduceat(Random& random) {
  const std::int64_t n = 1 + random.size_below(random.chance(50) ? 40 : 4000), rows = 1 + random.size_below(3);
  const std::int64_t stretches = 1 + random.size_below(random.chance(50) ? 10 : 600);
  std::vector<std::uint32_t> x;
  Ints y, starts;
  for (std::int64_t i = 0; i < rows * n; ++i) {
    x.push_back(static_cast<std::uint32_t>(random.next()));
    y.push_back(random.below(30) - 20);
  }
  for (std::int64_t s = 0; s < stretches; ++s) starts.push_back(random.below(static_cast<int>(n)));
  if (random.chance(60)) std::sort(starts.begin(), starts.end());
  std::vector<std::uint32_t> want;
  Ints want_later;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::size_t s = 0; s < starts.size(); ++s) {
      const std::int64_t first = starts[s], next = s + 1 < starts.size() ? starts[s + 1] : n;
      std::uint32_t joined = x[place(row * n + first)];
      std::int32_t last = y[place(row * n + first)];
      for (std::int64_t k = first + 1; k < next; ++k) {
        joined = twisted(joined, x[place(row * n + k)]);
        last = y[place(row * n + k)] < 0 ? last : y[place(row * n + k)];
      }
      want.push_back(joined);
      want_later.push_back(last);
    }
  }
  const std::string what = fmt::format("reduceat of {} stretches of {} x {}", stretches, rows, n);
  const kl::Array<std::int32_t> at = kl::from_host(starts);
  const auto got = twist.reduceat(kl::from_host(x, {rows, n}), at).to_host();
  const auto program = [&](const char* function, const std::string& values) {
    return fmt::format("\nauto f = kl::ufunc({});\n{}{}f.reduceat(x, at);", function, values,
                       array_line("at", starts, {stretches}));
  };
  if (got != want) return what + " differs" + program(twist_text, array_line("x", x, {rows, n}));
  if (later.reduceat(kl::from_host(y, {rows, n}), at).to_host() == want_later) return "";
  return what + " in order differs" + program(later_text, array_line("x", y, {rows, n}));
}

std::string joined_at(Random& random) {
  const std::int64_t n = 1 + random.size_below(random.chance(50) ? 10 : 3000),
                     count = random.size_below(random.chance(50) ? 40 : 5000);
  std::vector<std::uint32_t> target, values;
  Ints places;
  for (std::int64_t i = 0; i < n; ++i) target.push_back(static_cast<std::uint32_t>(random.next()));
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<std::uint32_t>(random.next()));
    places.push_back(random.below(static_cast<int>(n) + 3) - 1);  // -1, n and n + 1 name no element
  }
  std::vector<std::uint32_t> want = target;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = places[place(i)];
    if (at >= 0 && at < n) want[place(at)] = twisted(want[place(at)], values[place(i)]);
  }
  kl::Array<std::uint32_t> to = kl::from_host(target);
  twist.at(to, kl::from_host(places), kl::from_host(values));
  if (to.to_host() == want) return "";
  return fmt::format("at of {} values in {} differs\nauto f = kl::ufunc({});\n{}{}{}f.at(to, places, values);", count,
                     n, twist_text, array_line("to", target, {n}), array_line("places", places, {count}),
                     array_line("values", values, {count}));
}

/// Loop axes in front of the items of two arguments, which broadcast.
struct Loop {
  std::int64_t left = 1, right = 1, both = 1;
  explicit Loop(Random& random) {
    both = 1 + random.size_below(9);
    left = random.chance(25) ? 1 : both;
    right = random.chance(25) && left == both ? 1 : both;
  }
};

const auto rows_of = kl::gufunc<"(m,n),(k)->(k,n)">([](auto a, auto i) { return kl::take(a, i, 0) * 2.0; });
const auto picked_sum =
    kl::gufunc<"(m),(k)->()">([](auto v, auto i) { return kl::sum(kl::take(v, i, 0)) / (1.0 + kl::sum(v * v)); });
const auto centred_picks = kl::gufunc<"(m,n),(k)->(n)">([](auto a, auto i) {
  const auto b = a - kl::mean(a, 0, kl::keepdims);
  return kl::sum(kl::take(b, i, 0), 0);
});

const char* const items_text =
    "auto rows = kl::gufunc<\"(m,n),(k)->(k,n)\">([](auto a, auto i) { return kl::take(a, i, 0) * 2.0; });\n"
    "auto sums = kl::gufunc<\"(m),(k)->()\">(\n"
    "    [](auto v, auto i) { return kl::sum(kl::take(v, i, 0)) / (1.0 + kl::sum(v * v)); });\n"
    "auto centred = kl::gufunc<\"(m,n),(k)->(n)\">([](auto a, auto i) {\n"
    "  return kl::sum(kl::take(a - kl::mean(a, 0, kl::keepdims), i, 0), 0);\n});\n";

std::string items(Random& random) {
  const Loop loop(random);
  const std::int64_t m = 1 + random.size_below(40), n = 1 + random.size_below(40), k = 1 + random.size_below(20);
  const Doubles a = random_values<double>(random, loop.left * m * n), v = random_values<double>(random, loop.left * m);
  std::vector<std::int64_t> at;
  for (std::int64_t i = 0; i < loop.right * k; ++i) at.push_back(random.below(static_cast<int>(2 * m)) - m);
  Doubles rows, sums, centred;
  for (std::int64_t b = 0; b < loop.both; ++b) {
    const std::int64_t l = loop.left == 1 ? 0 : b, r = loop.right == 1 ? 0 : b;
    const auto index = [&](std::int64_t i) { return (at[place(r * k + i)] + m) % m; };
    for (std::int64_t i = 0; i < k; ++i)
      for (std::int64_t c = 0; c < n; ++c) rows.push_back(2 * a[place((l * m + index(i)) * n + c)]);
    Real sum = 0, squares = 0;
    for (std::int64_t i = 0; i < k; ++i) sum += v[place(l * m + index(i))];
    for (std::int64_t i = 0; i < m; ++i) squares += Real{v[place(l * m + i)]} * v[place(l * m + i)];
    sums.push_back(static_cast<double>(sum / (1 + squares)));
    for (std::int64_t c = 0; c < n; ++c) {
      Real mean = 0, total = 0;
      for (std::int64_t i = 0; i < m; ++i) mean += Real{a[place((l * m + i) * n + c)]} / m;
      for (std::int64_t i = 0; i < k; ++i) total += a[place((l * m + index(i)) * n + c)] - mean;
      centred.push_back(static_cast<double>(total));
    }
  }
  const kl::Array<double> matrices = kl::from_host(a, {loop.left, m, n}), vectors = kl::from_host(v, {loop.left, m});
  const kl::Array<std::int64_t> indices = kl::from_host(at, {loop.right, k});
  const std::string what =
      fmt::format("gufunc over {} and {} items of {} x {}, {} indices", loop.left, loop.right, m, n, k);
  std::string problem = differing(what + ", rows", rows_of(matrices, indices).to_host(), rows, 0);
  if (problem.empty()) problem = differing(what + ", sums", picked_sum(vectors, indices).to_host(), sums, 1e-12);
  if (problem.empty())
    problem = differing(what + ", centred", centred_picks(matrices, indices).to_host(), centred, 1e-9);
  if (problem.empty()) return problem;
  return problem + "\n" + items_text + array_line("a", a, {loop.left, m, n}) + array_line("v", v, {loop.left, m}) +
         array_line("i", at, {loop.right, k}) + "rows(a, i), sums(v, i), centred(a, i);";
}

/// Steps of an iteration that ends by itself.
float iterated(float x, float limit) {
  float v = x;
  int steps = 0;
  while (std::fabs(v) < limit && steps < 12) {
    v = v * 1.5f + 0.25f;
    ++steps;
  }
  if (steps % 2 == 1) v = -v;
  return v + static_cast<float>(steps);
}
std::int32_t digits(std::int32_t x, std::int32_t base) {
  std::int32_t sum = 0;
  for (std::uint32_t rest = static_cast<std::uint32_t>(x); rest != 0; rest /= static_cast<std::uint32_t>(base))
    sum += static_cast<std::int32_t>(rest % static_cast<std::uint32_t>(base));
  return sum;
}

const char* const iterate_text =
    "float v = x;\n"
    "int steps = 0;\n"
    "while (fabsf(v) < limit && steps < 12) {\n"
    "  v = __fadd_rn(__fmul_rn(v, 1.5f), 0.25f);\n"
    "  ++steps;\n"
    "}\n"
    "if (steps % 2 == 1) v = -v;\n"
    "return v + float(steps);";
const char* const digits_text =
    "int sum = 0;\nfor (unsigned rest = x; rest != 0; rest /= unsigned(base)) sum += rest % unsigned(base);\n"
    "return sum;";

std::string functions(Random& random) {
  const auto iterate = kl::function<float(float, float)>("iterate", {"x", "limit"}, iterate_text, iterated);
  const auto digit_sum =
      kl::function<std::int32_t(std::int32_t, std::int32_t)>("digit_sum", {"x", "base"}, digits_text, digits);
  const std::int64_t rows = 1 + random.size_below(50), columns = 1 + random.size_below(300);
  const Floats x = random_values<float>(random, rows * columns), limits = random_values<float>(random, columns);
  const Ints numbers = random_values<std::int32_t>(random, rows * columns);
  const std::int32_t base = 2 + random.below(30);
  Doubles sums;
  Ints digit_sums, largest;
  for (std::int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    std::int32_t most = INT32_MIN;
    for (std::int64_t c = 0; c < columns; ++c) {
      sum += static_cast<double>(iterated(x[place(r * columns + c)], limits[place(c)])) * 0.5;
      digit_sums.push_back(digits(numbers[place(r * columns + c)], base));
      most = std::max(most, digit_sums.back() - 3);
    }
    sums.push_back(sum);
    largest.push_back(most);
  }
  const kl::Array<float> xs = kl::from_host(x, {rows, columns}), bounds = kl::from_host(limits);
  const kl::Array<std::int32_t> ns = kl::from_host(numbers, {rows, columns});
  const std::string what = fmt::format("functions of {} x {}, base {}", rows, columns, base);
  const kl::Array<double> got = kl::sum(kl::cast<double>(iterate(xs, bounds)) * 0.5, 1);
  std::string problem = differing(what + ", sums", got.to_host(), sums, 1e-10);
  if (problem.empty()) {
    const kl::Array<std::int32_t> all = digit_sum(ns, base), most = kl::max(digit_sum(ns, base) - 3, 1);
    if (all.to_host() != digit_sums || most.to_host() != largest) problem = what + ", digits differ";
  }
  if (problem.empty()) return problem;
  return fmt::format(
      "{}\nauto iterate = kl::function<float(float, float)>(\"iterate\", {{\"x\", \"limit\"}}, R\"({})\", ...);\n"
      "auto digits = kl::function<int(int, int)>(\"digit_sum\", {{\"x\", \"base\"}}, R\"({})\", ...);\n{}{}{}"
      "kl::sum(kl::cast<double>(iterate(x, limit)) * 0.5, 1), digits(n, {}), kl::max(digits(n, {}) - 3, 1);",
      problem, iterate_text, digits_text, array_line("x", x, {rows, columns}), array_line("limit", limits, {columns}),
      array_line("n", numbers, {rows, columns}), base, base);
}

}  // namespace

std::string check_ufunc(Random random) { return random.chance(60) ? reduceat(random) : joined_at(random); }
std::string check_call(Random random) { return random.chance(60) ? items(random) : functions(random); }

std::string shrink_statement(std::uint64_t seed) {
  for (int limit = 0; limit < 10000; limit = limit < 4 ? limit + 1 : limit + limit / 2) {
    const std::string problem = check_statement(seed, limit);
    if (!problem.empty()) return problem;
  }
  return check_statement(seed);
}

std::string check_statement(std::uint64_t seed, int limit) {
  Random random(seed);
  random.limit_sizes(limit);
  try {
    switch (random.below(8)) {
      case 0:
        return check_counts(random);
      case 1:
      case 2:
        return check_ufunc(random);
      case 3:
      case 4:
        return check_call(random);
      default:
        return check_scatter(random);
    }
  } catch (const std::exception& error) {
    return std::string("exception: ") + error.what();
  }
}

}  // namespace fuzz
