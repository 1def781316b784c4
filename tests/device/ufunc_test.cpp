// tests/device/ufunc_test.cpp -- kl::ufunc, kl::gufunc and lambdas of kl::function against loops over elements.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/devices.h"
#include "tests/support/messages.h"

namespace {

using messages::message_of;

class Ufunc : public OnEachDevice {};
KILN_ON_EACH_DEVICE(Ufunc);
class Gufunc : public OnEachDevice {};
KILN_ON_EACH_DEVICE(Gufunc);
class LambdaFunction : public OnEachDevice {};
KILN_ON_EACH_DEVICE(LambdaFunction);

using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;

/// Small multiples of 1/8: sums and products of a few are exact.
Floats values(std::size_t count, unsigned step = 7) {
  Floats result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = static_cast<float>(i * step % 19) / 8.0f - 1.0f;
  return result;
}

// ------------------------------------------------------------------ kl::function of a lambda
const auto smooth = kl::function("smooth", [](auto a, auto b, auto x) {
  auto t = kl::clip((x - a) / (b - a), 0, 1);
  return t * t * (3 - 2 * t);
});

float smooth_of(float a, float b, float x) {
  const float t = std::min(std::max((x - a) / (b - a), 0.0f), 1.0f);
  return t * t * (3 - 2 * t);
}

TEST_P(LambdaFunction, works_in_expressions_and_traces_with_numbers_as_parameters) {
  const Floats v = values(100);
  kl::Array<float> x = kl::from_host(v);
  const auto f = kl::jit([](auto a, auto k) { return smooth(-1, k, a) + a; });
  for (const float top : {0.5f, 1.0f}) {
    kl::Array<float> inline_ = 2.0f * smooth(-1, top, x) + x, traced = f(x, top);
    for (std::size_t i = 0; i < v.size(); ++i) {
      EXPECT_NEAR(inline_.to_host()[i], 2 * smooth_of(-1, top, v[i]) + v[i], 1e-6f);
      EXPECT_NEAR(traced.to_host()[i], smooth_of(-1, top, v[i]) + v[i], 1e-6f);
    }
  }
  EXPECT_EQ(kl::inspect(2.0f * smooth(0, 1, x) + x).kernels.size(), 1u);
}

TEST_P(LambdaFunction, may_reduce_and_its_views_are_views_of_its_value) {
  const auto centred = kl::function("centred", [](auto x) { return x - kl::mean(x, -1, kl::keepdims); });
  kl::Array<float> x = kl::from_host(Floats{1, 2, 6, 0, 4, 8}, {2, 3});
  EXPECT_EQ(kl::eval(centred(x) * 2).to_host(), (Floats{-4, -2, 6, -8, 0, 8}));
  EXPECT_EQ(kl::eval(centred(x).t()).to_host(), (Floats{-2, -4, -1, 0, 3, 4}));
  EXPECT_EQ(kl::eval(centred(centred(x))(0, kl::all)).to_host(), (Floats{-2, -1, 3}));
}

// ------------------------------------------------------------------ ufunc
const auto product_sum = kl::ufunc([](auto a, auto b) { return a * b + a; });
const auto plus = kl::ufunc([](auto a, auto b) { return a + b; });
const auto largest = kl::ufunc([](auto a, auto b) { return kl::maximum(a, b); });
/// Associative and commutative, with identity 0, and no operation that kiln knows: a + b + a b.
const auto compound = kl::ufunc([](auto a, auto b) { return a + b + a * b; });
const auto compound_0 = kl::ufunc([](auto a, auto b) { return a + b + a * b; }, kl::identity(0));

TEST_P(Ufunc, calls_broadcast_arrays_views_expressions_and_numbers) {
  kl::Array<float> x = kl::from_host(Floats{1, 2, 3, 4, 5, 6}, {2, 3}), w = kl::from_host(Floats{10, 20, 30});
  EXPECT_EQ(product_sum(x, w).to_host(), (Floats{11, 42, 93, 44, 105, 186}));
  EXPECT_EQ(product_sum(x(0, kl::all) + 1.0f, 2.0f).to_host(), (Floats{6, 9, 12}));
  kl::Array<float> y({2, 3});
  product_sum.into(y)(x, w);
  EXPECT_EQ(y.to_host()[5], 186.0f);
  EXPECT_EQ((product_sum[{.block = 64}](x, w)).to_host(), y.to_host());
  EXPECT_EQ(product_sum.inspect(x, w).kernels.size(), 1u);
}

TEST_P(Ufunc, reduce_joins_along_any_axes) {
  const std::size_t rows = 13, columns = 70;
  const Floats v = values(rows * columns);
  kl::Array<float> x = kl::from_host(v, {13, 70});
  kl::Array<float> by_row = largest.reduce(x, 1), kept = largest.reduce(x, {0}, kl::keepdims), all = plus.reduce(x);
  ASSERT_EQ(kept.shape(), (kl::Shape{1, 70}));
  float total = 0;
  for (const float value : v) total += value;
  EXPECT_EQ(all.item(), total);
  for (std::size_t i = 0; i < rows; ++i) {
    EXPECT_EQ(by_row.to_host()[i], *std::max_element(v.begin() + static_cast<std::ptrdiff_t>(i * columns),
                                                     v.begin() + static_cast<std::ptrdiff_t>((i + 1) * columns)));
  }
  // (1 + a)(1 + b) - 1: the product of what is one larger, for both ways to say what joins nothing.
  for (std::size_t j = 0; j < columns; ++j) {
    double want = 1;
    for (std::size_t i = 0; i < rows; ++i) want *= 1 + static_cast<double>(v[i * columns + j]);
    EXPECT_NEAR(kl::eval(compound.reduce(x, 0)).to_host()[j], want - 1, 1e-4 * (1 + std::fabs(want))) << j;
    EXPECT_NEAR(kl::eval(compound_0.reduce(x, 0)).to_host()[j], want - 1, 1e-4 * (1 + std::fabs(want))) << j;
    if (j == 3) break;
  }
  kl::Array<float> scaled = x / plus.reduce(kl::abs(x), -1, kl::keepdims);
  EXPECT_EQ(kl::inspect(x / plus.reduce(kl::abs(x), -1, kl::keepdims)).kernels.size(), 1u) << "fuses like kl::sum";
  EXPECT_EQ(scaled.shape(), x.shape());
}

TEST_P(Ufunc, reduce_keeps_the_operand_type) {
  kl::Array<std::int8_t> x = kl::from_host(std::vector<std::int8_t>{100, 100, 3});
  EXPECT_EQ(kl::eval(plus.reduce(x)).item(), static_cast<std::int8_t>(203)) << "the function's own arithmetic wraps";
  kl::Array<bool> b = kl::from_host(std::vector<std::uint8_t>{0, 1, 0}).astype<bool>();
  const auto either = kl::ufunc([](auto a, auto c) { return a || c; });
  EXPECT_EQ(kl::eval(either.reduce(b)).item(), true);
  using C = std::complex<float>;
  kl::Array<C> z = kl::from_host(std::vector<C>{C(1, 1), C(0, 2), C(3, 0)});
  const auto times = kl::ufunc([](auto a, auto c) { return a * c; });
  EXPECT_EQ(kl::eval(times.reduce(z)).item(), C(1, 1) * C(0, 2) * C(3, 0));
  EXPECT_EQ(kl::eval(compound.reduce(z)).item(), C(2, 1) * C(1, 2) * C(4, 0) - C(1, 0)) << "a state of three numbers";
}

TEST_P(Ufunc, no_elements_give_the_identity_or_an_error) {
  kl::Array<float> none({0, 3});
  EXPECT_EQ(kl::eval(plus.reduce(none, 0)).to_host(), (Floats{0, 0, 0}));
  EXPECT_EQ(kl::eval(compound_0.reduce(none, 0)).to_host(), (Floats{0, 0, 0}));
  EXPECT_NE(message_of<kl::ShapeError>([&] { kl::eval(compound.reduce(none, 0)); }).find("joins no element"),
            std::string::npos);
  EXPECT_NE(message_of<kl::ShapeError>([&] { kl::eval(largest.reduce(none, 0)); }).find("joins no element"),
            std::string::npos);
  EXPECT_EQ(kl::eval(compound.reduce(none, 1)).size(), 0) << "no rows: nothing to join";
}

TEST_P(Ufunc, accumulate_joins_what_came_before) {
  const Floats v = values(4 * 33);
  kl::Array<float> x = kl::from_host(v, {4, 33});
  // The last of two, where a second number says that there is none: associative, not commutative.
  const auto first = kl::ufunc([](auto a, auto b) { return kl::where(a != 0, a, b); });
  kl::Array<float> sums = plus.accumulate(x, 1), firsts = first.accumulate(x, 1), down = largest.accumulate(x, 0);
  for (std::size_t i = 0; i < 4; ++i) {
    float sum = 0, leading = 0;
    for (std::size_t j = 0; j < 33; ++j) {
      const std::size_t at = i * 33 + j;
      sum += v[at];
      if (leading == 0) leading = v[at];
      EXPECT_EQ(sums.to_host()[at], sum);
      EXPECT_EQ(firsts.to_host()[at], leading);
      float top = -std::numeric_limits<float>::infinity();
      for (std::size_t k = 0; k <= i; ++k) top = std::max(top, v[k * 33 + j]);
      EXPECT_EQ(down.to_host()[at], top);
    }
  }
  kl::Array<float> line = kl::from_host(Floats{1, 2, 4});
  EXPECT_EQ(kl::eval(plus.accumulate(line)).to_host(), (Floats{1, 3, 7})) << "a vector needs no axis";
}

TEST_P(Ufunc, outer_pairs_all_elements) {
  kl::Array<float> u = kl::from_host(Floats{1, 2, 3}), w = kl::from_host(Floats{1, 10, 100, 1000}, {2, 2});
  kl::Array<float> t = product_sum.outer(u, w), s = product_sum.outer(w(0, kl::all), u + 0.0f);
  ASSERT_EQ(t.shape(), (kl::Shape{3, 2, 2}));
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 4; ++j)
      EXPECT_EQ(t.to_host()[i * 4 + j], u.to_host()[i] * w.to_host()[j] + u.to_host()[i]);
  }
  EXPECT_EQ(s.to_host(), (Floats{2, 3, 4, 20, 30, 40}));
}

TEST_P(Ufunc, reduceat_joins_stretches_as_numpy_does) {
  kl::Array<float> x = kl::from_host(values(2 * 12), {2, 12});
  kl::Array<std::int32_t> starts = kl::from_host(Ints{0, 3, 3, 9, 4});
  for (const bool sums : {true, false}) {
    const auto recorded =
        kl::jit([sums](auto v, auto s) { return sums ? plus.reduceat(v, s) : compound.reduceat(v, s); });
    const Floats got = (sums ? plus.reduceat(x, starts) : compound.reduceat(x, starts)).to_host();
    EXPECT_EQ(recorded(x, starts).to_host(), got) << "the same joins inside kl::jit";
    const int first[] = {0, 3, 3, 9, 4}, last[] = {3, 4, 9, 10, 12};  // an empty stretch is the element at its start
    for (std::size_t row = 0; row < 2; ++row) {
      for (std::size_t s = 0; s < 5; ++s) {
        double want = sums ? 0 : 1;
        for (int k = first[s]; k < last[s]; ++k) {
          const auto v = static_cast<double>(values(24)[row * 12 + static_cast<std::size_t>(k)]);
          want = sums ? want + v : want * (1 + v);
        }
        EXPECT_NEAR(got[row * 5 + s], sums ? want : want - 1, 1e-5) << row << ", stretch " << s;
      }
    }
  }
}

// Rule: stretches keep the order of their elements, may overlap, and cost no more than n + 2 s log2(n) joins.
TEST_P(Ufunc, reduceat_of_many_stretches_keeps_their_order) {
  const auto latest = kl::ufunc([](auto a, auto b) { return kl::where(b < 0, a, b); });  // not commutative
  constexpr std::int32_t n = 300'007, count = 40'000;  // 12e9 pairs: looking at all of them would take minutes
  Ints x, starts, want;
  for (std::int32_t i = 0; i < n; ++i) x.push_back((i * 37 + i / 11) % 101 - 90);
  for (std::int32_t s = 0; s < count; ++s) starts.push_back(s % 100 == 99 ? s : s * 7);  // every hundredth goes back
  for (std::size_t s = 0; s < starts.size(); ++s) {
    const std::int32_t end = s + 1 < starts.size() ? starts[s + 1] : n;
    std::int32_t last = x[static_cast<std::size_t>(starts[s])];
    for (std::int32_t k = starts[s] + 1; k < end; ++k)
      last = x[static_cast<std::size_t>(k)] < 0 ? last : x[static_cast<std::size_t>(k)];
    want.push_back(last);
  }
  EXPECT_EQ(latest.reduceat(kl::from_host(x), kl::from_host(starts)).to_host(), want);
  const auto recorded = kl::jit([latest](auto v, auto s) { return latest.reduceat(v, s) + 0; });
  EXPECT_EQ(recorded(kl::from_host(x), kl::from_host(starts)).to_host(), want) << "inside kl::jit";
  kl::Array<kl::half> halves = kl::ones<kl::half>({1, 4096});
  const auto sums = plus.reduceat(halves, kl::from_host(Ints{0, 4000, 7, -3, 4096})).to_host();
  EXPECT_EQ(static_cast<float>(sums[0]), 4000.0f) << "joined in f32, as f16 holds no odd number above 2048";
  EXPECT_EQ(static_cast<float>(sums[1]), 1.0f);
  EXPECT_EQ(static_cast<float>(sums[2]), 1.0f) << "a stretch that goes back is the element at its start";
  EXPECT_EQ(static_cast<float>(sums[3]), 0.0f) << "one that starts outside is 0";
  EXPECT_EQ(static_cast<float>(sums[4]), 0.0f);
}

// Rule: the values of one element join in their order; the cost does not grow with elements times values.
TEST_P(Ufunc, at_of_many_values_keeps_their_order) {
  const auto shifted = kl::ufunc([](auto a, auto b) { return kl::where(b < 0, a, b); });
  constexpr std::int32_t n = 200'003, count = 250'000;  // 5e10 pairs
  Ints target, places, values;
  for (std::int32_t i = 0; i < n; ++i) target.push_back(i - 50);
  for (std::int32_t i = 0; i < count; ++i) {
    places.push_back(i % 3 == 0 ? i % 17 : (i * 13) % (n + 5) - 2);
    values.push_back((i * 29) % 1000 - 400);
  }
  Ints want = target;
  for (std::int32_t i = 0; i < count; ++i) {
    const std::int32_t at = places[static_cast<std::size_t>(i)];
    if (at < 0 || at >= n || values[static_cast<std::size_t>(i)] < 0) continue;
    want[static_cast<std::size_t>(at)] = values[static_cast<std::size_t>(i)];
  }
  kl::Array<std::int32_t> to = kl::from_host(target);
  shifted.at(to, kl::from_host(places), kl::from_host(values));
  EXPECT_EQ(to.to_host(), want);
}

TEST_P(Ufunc, at_joins_repeated_indices_into_the_target) {
  kl::Array<std::int32_t> counts = kl::from_host(Ints{10, 20, 30, 40});
  const Ints where = {2, 0, 2, 2, 7, 3};
  plus.at(counts, kl::from_host(where), kl::from_host(Ints{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(counts.to_host(), (Ints{12, 20, 38, 46})) << "index 7 names no element";
  kl::Array<float> target = kl::from_host(Floats{1, 2, 3});
  compound.at(target(kl::range(0, 2)), kl::from_host(Ints{1, 1}), kl::from_host(Floats{1, 3}));
  EXPECT_EQ(target.to_host(), (Floats{1, 3 * 2 * 4 - 1, 3}));
}

TEST_P(Ufunc, is_recorded_inside_other_functions) {
  const auto f =
      kl::jit([](auto x, auto y) { return compound.reduce(product_sum(x, y), -1) + plus.outer(x, y)(0, 0); });
  kl::Array<float> x = kl::from_host(Floats{0.5f, -0.5f}), y = kl::from_host(Floats{1, 3});
  // product_sum: {1, -2}; compound: 1 - 2 - 2; outer(0, 0): 1.5
  EXPECT_EQ(f(x, y).item(), -1.5f);
}

// ------------------------------------------------------------------ gufunc
const auto matvec = kl::gufunc<"(m,n),(n)->(m)">([](auto a, auto x) { return kl::sum(a * x, 1); });

TEST_P(Gufunc, applies_an_item_function_over_leading_axes) {
  const std::size_t batch = 5, m = 3, n = 4;
  const Floats a = values(batch * m * n), x = values(batch * n, 5);
  kl::Array<float> matrices = kl::from_host(a, {5, 3, 4}), vectors = kl::from_host(x, {5, 4});
  kl::Array<float> each = matvec(matrices, vectors), shared = matvec(matrices, vectors(0, kl::all));
  kl::Array<float> single = matvec(matrices(1, kl::all, kl::all), vectors(1, kl::all));
  kl::Array<float> pairs = matvec(matrices.reshape({5, 1, 3, 4}), vectors);
  ASSERT_EQ(each.shape(), (kl::Shape{5, 3}));
  ASSERT_EQ(single.shape(), (kl::Shape{3}));
  ASSERT_EQ(pairs.shape(), (kl::Shape{5, 5, 3}));
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t i = 0; i < m; ++i) {
      float own = 0, first = 0, other = 0;
      for (std::size_t k = 0; k < n; ++k) {
        own += a[(b * m + i) * n + k] * x[b * n + k];
        first += a[(b * m + i) * n + k] * x[k];
        other += a[(b * m + i) * n + k] * x[2 * n + k];
      }
      EXPECT_FLOAT_EQ(each.to_host()[b * m + i], own);
      EXPECT_FLOAT_EQ(shared.to_host()[b * m + i], first);
      EXPECT_FLOAT_EQ(pairs.to_host()[(b * 5 + 2) * m + i], other);
      if (b == 1) {
        EXPECT_FLOAT_EQ(single.to_host()[i], own);
      }
    }
  }
  EXPECT_EQ(matvec.inspect(matrices, vectors).kernels.size(), 1u) << "one fused kernel";
}

TEST_P(Gufunc, items_count_their_own_axes) {
  // Everything that names axes: full sums, views, indices, broadcasting of items of different rank.
  const auto f = kl::gufunc<"(m,n),(n),()->(n,m),()">([](auto a, auto x, auto s) {
    auto flipped = a.flip(1) + x(kl::range(kl::none, kl::none, -1)) * s;
    auto weighted = flipped * kl::cast<float>(kl::index(a, 0));
    return std::tuple(weighted.t(), kl::sum(a) + kl::max(x));
  });
  const std::size_t batch = 2, m = 3, n = 4;
  const Floats a = values(batch * m * n), x = values(n, 5);
  auto [turned, totals] = f(kl::from_host(a, {2, 3, 4}), kl::from_host(x), 2.0f);
  ASSERT_EQ(turned.shape(), (kl::Shape{2, 4, 3}));
  ASSERT_EQ(totals.shape(), (kl::Shape{2}));
  for (std::size_t b = 0; b < batch; ++b) {
    float total = *std::max_element(x.begin(), x.end());
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        total += a[(b * m + i) * n + j];
        const float want = (a[(b * m + i) * n + (n - 1 - j)] + x[n - 1 - j] * 2) * static_cast<float>(i);
        EXPECT_FLOAT_EQ(turned.to_host()[(b * n + j) * m + i], want);
      }
    }
    EXPECT_FLOAT_EQ(totals.to_host()[b], total);
  }
}

// Rule: inside an item, takes count its own axes, and each item takes its own elements.
TEST_P(Gufunc, items_take_their_own_elements) {
  const std::size_t batch = 3, m = 4, n = 5, k = 2;
  const Floats a = values(batch * m * n);
  const Ints rows = {0, 3, -1, 2, 1, 1}, single = {3, 0, -2}, pairs = {0, 1, 2, 3, 3, 3, 0, 0, 1, 2, 2, 2};
  kl::Array<float> x = kl::from_host(a, {3, 4, 5});
  kl::Array<std::int32_t> r = kl::from_host(rows, {3, 2}), one = kl::from_host(single),
                          p = kl::from_host(pairs, {3, 2, 2});
  const auto row = [&](std::size_t b, std::int32_t i) { return (b * m + static_cast<std::size_t>((i + 4) % 4)) * n; };
  const auto by_rows = kl::gufunc<"(m,n),(k)->(k,n)">([](auto v, auto i) { return kl::take(v, i, 0); });
  const auto by_columns = kl::gufunc<"(m,n),(k)->(m,k)">([](auto v, auto i) { return kl::take(v, i, -1); });
  const auto by_one = kl::gufunc<"(m,n),()->(n)">([](auto v, auto i) { return kl::take(v, i, 0); });
  const auto by_pairs = kl::gufunc<"(m,n),(k,l)->(n)">(
      [](auto v, auto i) { return kl::sum(kl::take(v, i, 0), {0, 1}) + kl::sum(kl::one_hot<float>(i, 4)); });
  const auto along = kl::gufunc<"(m,n),(k)->(n)">([](auto v, auto i) {
    return kl::sum(kl::take_along_axis(v, i.unsqueeze(1) + 0 * kl::cast<int>(v(kl::range(0, 2), kl::all)), 0), 0);
  });
  const Floats taken = by_rows(x, r).to_host(), columns = by_columns(x, r).to_host(), ones = by_one(x, one).to_host();
  const Floats shared = by_rows(x, r(1, kl::all)).to_host(), sums = by_pairs(x, p).to_host();
  const Floats summed = along(x, r).to_host();
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t c = 0; c < n; ++c) {
      EXPECT_EQ(ones[b * n + c], a[row(b, single[b]) + c]);
      float sum = 4, two = 0;  // each of the four indices is hot once
      for (std::size_t i = 0; i < 4; ++i) sum += a[row(b, pairs[b * 4 + i]) + c];
      for (std::size_t i = 0; i < k; ++i) {
        EXPECT_EQ(taken[(b * k + i) * n + c], a[row(b, rows[b * k + i]) + c]) << b << " " << i << " " << c;
        EXPECT_EQ(shared[(b * k + i) * n + c], a[row(b, rows[k + i]) + c]) << "indices of one item for all";
        two += a[row(b, rows[b * k + i]) + c];
      }
      EXPECT_NEAR(sums[b * n + c], sum, 1e-5);
      EXPECT_NEAR(summed[b * n + c], two, 1e-5);
    }
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < k; ++j) {
        const std::int32_t at = rows[b * k + j];
        EXPECT_EQ(columns[(b * m + i) * k + j], a[(b * m + i) * n + static_cast<std::size_t>(at < 0 ? at + 5 : at)]);
      }
    }
  }
  const auto beyond = kl::gufunc<"(m,n),(k)->(k,n)">([](auto v, auto i) { return kl::take(v, i, 2); });
  EXPECT_NE(message_of<kl::ShapeError>([&] { beyond(x, r); }).find("axis 2 does not exist in an item of 2 axes"),
            std::string::npos);
}

TEST_P(Gufunc, writes_destinations_and_is_recorded_inside_others) {
  const auto normalised = kl::gufunc<"(n)->(n)">([](auto v) { return v / kl::sqrt(kl::sum(v * v)); });
  const auto both = kl::gufunc<"(m,n)->(m)">([normalised](auto a) { return kl::sum(normalised(a), 1); });
  kl::Array<float> x = kl::from_host(Floats{3, 4, 6, 8, 0, 5, 5, 0}, {2, 2, 2}), y({2, 2, 2});
  normalised.into(y)(x);
  EXPECT_FLOAT_EQ(y.to_host()[0], 0.6f);
  EXPECT_FLOAT_EQ(y.to_host()[3], 0.8f);
  const Floats sums = both(x).to_host();
  EXPECT_FLOAT_EQ(sums[0], 1.4f);
  EXPECT_FLOAT_EQ(sums[2], 1.0f);
  const auto traced = kl::jit([normalised](auto v) { return normalised(v) * 2; });
  EXPECT_FLOAT_EQ(traced(x).to_host()[0], 1.2f);
}

TEST_P(Gufunc, extents_of_one_letter_must_agree) {
  kl::Array<float> a({2, 3, 4}), x({5}), v({4});
  const std::string two = message_of<kl::ShapeError>([&] { matvec(a, x); });
  EXPECT_NE(two.find("axis n has 4 elements in argument 0 and 5 in argument 1"), std::string::npos) << two;
  EXPECT_NE(message_of<kl::ShapeError>([&] { matvec(v, v); }).find("argument 0 of shape (4,) has fewer axes"),
            std::string::npos);
  const auto cross = kl::gufunc<"(3),(3)->()">([](auto p, auto q) { return kl::sum(p * q); });
  EXPECT_NE(
      message_of<kl::ShapeError>([&] { cross(v, v); }).find("4 elements along an axis that the signature fixes to 3"),
      std::string::npos);
  const auto wrong = kl::gufunc<"(n)->(n)">([](auto p) { return kl::sum(p); });
  EXPECT_NE(message_of<kl::ShapeError>([&] { wrong(v); }).find("has 0 axes per item, the signature says 1"),
            std::string::npos);
  const auto longer = kl::gufunc<"(n)->(n)">([](auto p) { return p(kl::range(1, kl::none)); });
  EXPECT_NE(
      message_of<kl::ShapeError>([&] { longer(v); }).find("axis n has 4 elements in argument 0 and 3 in result 0"),
      std::string::npos);
}

}  // namespace
