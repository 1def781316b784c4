// tests/device/normalisation_test.cpp -- softmax and its kin: right against long double for every type and length, and
// as few kernels as they need.
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "tests/support/rows.h"
#include "tests/support/values.h"

namespace {

using rows::Expected;
using rows::Real;
using rows::Tensor;
using Reals = std::vector<Real>;

class Normalisation : public OnEachDevice {};
KILN_ON_EACH_DEVICE(Normalisation);

template <class T>
Tensor<T> random_tensor(const rows::Extents& shape, std::uint64_t seed, int exponents = 2) {
  return {shape, values::random<T>(static_cast<std::size_t>(rows::count_of(shape)), seed, exponents)};
}
template <class T>
kl::Array<T> on_device(const Tensor<T>& t) {
  return kl::from_host(t.values, kl::Shape(t.shape));
}

const auto softmax = kl::jit([](auto x) {
  auto e = kl::exp(x - kl::max(x, -1, kl::keepdims));
  return e / kl::sum(e, -1, kl::keepdims);
});
const auto log_softmax = kl::jit([](auto x) { return x - kl::logsumexp(x, -1, kl::keepdims); });
const auto layernorm = kl::jit([](auto x, auto weight, auto bias, auto eps) {
  auto centered = x - kl::mean(x, -1, kl::keepdims);
  return centered * kl::rsqrt(kl::var(x, -1, kl::keepdims) + eps) * weight + bias;
});
const auto rmsnorm = kl::jit(
    [](auto x, auto weight, auto eps) { return x * kl::rsqrt(kl::mean(x * x, -1, kl::keepdims) + eps) * weight; });
const auto cross_entropy = kl::jit([](auto x, auto label) {
  auto chosen = kl::sum(kl::where(kl::index(x, -1) == label.unsqueeze(1), x, 0), -1);
  return kl::logsumexp(x, -1) - chosen;
});
const auto standardise =
    kl::jit([](auto x) { return (x - kl::mean(x, -1, kl::keepdims)) / kl::std_(x, -1, kl::keepdims); });
const auto l2_normalise = kl::jit([](auto x) { return x / kl::norm(x, -1, kl::keepdims); });

template <class T>
Reals reals(const std::vector<T>& row) {
  Reals out;
  for (const T v : row) out.push_back(rows::real(v));
  return out;
}
Real total(const Reals& row) {
  Real sum = 0;
  for (const Real v : row) sum += v;
  return sum;
}
Reals softmax_of(const Reals& row) {
  Real largest = row[0];
  for (const Real v : row) largest = std::max(largest, v);
  Reals out;
  for (const Real v : row) out.push_back(std::exp(v - largest));
  const Real sum = total(out);
  for (Real& v : out) v /= sum;
  return out;
}
/// (x - mean) / sqrt(var + eps).
Reals standardised(const Reals& row, Real eps) {
  const Real n = static_cast<Real>(row.size()), center = total(row) / n;
  Real squares = 0;
  for (const Real v : row) squares += (v - center) * (v - center);
  Reals out;
  for (const Real v : row) out.push_back((v - center) / std::sqrt(squares / n + eps));
  return out;
}
Reals scaled(const Reals& row, Real eps, bool mean) {
  Real squares = 0;
  for (const Real v : row) squares += v * v;
  Reals out;
  for (const Real v : row) out.push_back(v / std::sqrt(mean ? squares / static_cast<Real>(row.size()) + eps : squares));
  return out;
}

/// Rows of a result against `reference_of(row)`, within `relative` of the element and `absolute`.
template <class R, class T, class Reference>
void expect_elements(const std::string& rule, const kl::Array<R>& got, const Tensor<T>& t, Reference reference_of,
                     Real relative, Real absolute) {
  ASSERT_EQ(got.shape(), kl::Shape(t.shape)) << rule;
  const auto values = got.to_host();
  const auto each = rows::of(t, {-1});
  int failures = 0;
  for (std::size_t row = 0; row < each.size(); ++row) {
    const Reals want = reference_of(reals(each[row]));
    for (std::size_t i = 0; i < want.size() && failures < 3; ++i) {
      const auto ok = rows::near<R>(values[row * want.size() + i], {want[i], relative * std::fabs(want[i]) + absolute});
      EXPECT_TRUE(ok) << rule << ", row " << row << " of " << want.size() << ", element " << i;
      failures += !ok;
    }
  }
}

template <class T>
void check_lengths(Real u) {
  const std::string type = std::string(" of ") + kl::name_of(kl::dtype_of<T>);
  for (const std::int64_t n : {1, 2, 7, 32, 100, 1024, 1027, 4096, 33000, 50257}) {
    const Tensor<T> t = random_tensor<T>({3, n}, static_cast<std::uint64_t>(n));
    const Tensor<T> w = random_tensor<T>({n}, static_cast<std::uint64_t>(n) + 1);
    const kl::Array<T> x = on_device(t), weight = on_device(w);
    const Real depth = 8 + rows::log2_of(static_cast<std::size_t>(n));
    expect_elements("softmax" + type, softmax(x), t, softmax_of, 8 * depth * u, 0);
    expect_elements(
        "log_softmax" + type, log_softmax(x), t,
        [](const Reals& r) {
          Reals out = softmax_of(r);
          for (Real& v : out) v = std::log(v);
          return out;
        },
        depth * u, 32 * depth * u);
    const Reals scale = reals(w.values);
    const auto weighted = [&](Reals r, Real offset) {
      for (std::size_t i = 0; i < r.size(); ++i) r[i] = r[i] * scale[i] + offset;
      return r;
    };
    expect_elements(
        "layernorm" + type, layernorm(x, weight, weight * 0 + 1, 1e-5f), t,
        [&](const Reals& r) { return weighted(standardised(r, static_cast<Real>(1e-5f)), 1); }, 32 * depth * u,
        64 * depth * u);
    expect_elements(
        "rmsnorm" + type, rmsnorm(x, weight, 1e-6f), t,
        [&](const Reals& r) { return weighted(scaled(r, static_cast<Real>(1e-6f), true), 0); }, 16 * depth * u, 0);
    expect_elements(
        "l2_normalise" + type, l2_normalise(x), t, [](const Reals& r) { return scaled(r, 0, false); }, 8 * depth * u,
        0);
    if (n > 2) {
      expect_elements(
          "standardise" + type, standardise(x), t, [](const Reals& r) { return standardised(r, 0); }, 32 * depth * u,
          32 * depth * u);
    }
  }
}

TEST_P(Normalisation, of_f32) { check_lengths<float>(0x1p-24L); }
TEST_P(Normalisation, of_f64) { check_lengths<double>(0x1p-53L); }
TEST_P(Normalisation, of_f16) { check_lengths<kl::half>(0x1p-24L); }
TEST_P(Normalisation, of_bf16) { check_lengths<kl::bfloat16>(0x1p-24L); }

// Rule: rows may start at any element, of operands that start differently too; nothing beside them is written.
TEST_P(Normalisation, of_rows_at_any_place) {
  for (const std::int64_t n : {129, 1024, 4097, 20001}) {
    const Tensor<kl::bfloat16> all = random_tensor<kl::bfloat16>({5, n + 11}, static_cast<std::uint64_t>(n));
    Tensor<kl::bfloat16> t{{5, n}, {}};
    for (std::int64_t row = 0; row < 5; ++row) {
      const auto begin = all.values.begin() + static_cast<std::ptrdiff_t>(row * (n + 11) + 3);
      t.values.insert(t.values.end(), begin, begin + static_cast<std::ptrdiff_t>(n));
    }
    const kl::Array<kl::bfloat16> x = on_device(all);
    kl::Array<kl::bfloat16> beside = kl::full<kl::bfloat16>({5, n + 2}, kl::bfloat16(7.0f)), on = on_device(all);
    const auto inside = kl::range(3, n + 3);
    softmax.into(beside(kl::all, kl::range(1, n + 1)))(x(kl::all, inside));
    const kl::Array<kl::bfloat16> result = kl::eval(beside(kl::all, kl::range(1, n + 1)) + kl::bfloat16(0.0f));
    expect_elements("softmax of rows elsewhere", result, t, softmax_of, 1e-4L, 0);
    const auto edges = beside.to_host();
    for (std::int64_t row = 0; row < 5; ++row) {
      EXPECT_EQ(float(edges[static_cast<std::size_t>(row * (n + 2))]), 7.0f) << n;
      EXPECT_EQ(float(edges[static_cast<std::size_t>((row + 1) * (n + 2) - 1)]), 7.0f) << n;
    }
    softmax.into(on(kl::all, inside))(on(kl::all, inside));
    const kl::Array<kl::bfloat16> same = kl::eval(on(kl::all, inside) + kl::bfloat16(0.0f));
    expect_elements("softmax in place", same, t, softmax_of, 1e-4L, 0);
  }
}

TEST_P(Normalisation, cross_entropy_of_rows) {
  for (const std::int64_t n : {5, 1000, 40000}) {
    const Tensor<float> t = random_tensor<float>({4, n}, static_cast<std::uint64_t>(n));
    std::vector<std::int64_t> labels = {0, n - 1, n / 2, n / 3};
    const auto got = cross_entropy(on_device(t), kl::from_host(labels)).to_host();
    const auto each = rows::of(t, {1});
    for (std::size_t i = 0; i < 4; ++i) {
      const Real want = -std::log(softmax_of(reals(each[i]))[static_cast<std::size_t>(labels[i])]);
      EXPECT_TRUE(rows::near<float>(got[i], {want, 1e-5L + 1e-6L * want})) << n;
    }
  }
}

TEST_P(Normalisation, inline_and_along_columns) {
  const Tensor<float> t = random_tensor<float>({70, 90}, 1);
  const kl::Array<float> x = on_device(t);
  kl::Array<float> shifted = kl::exp(x - kl::max(x, -1, kl::keepdims));
  expect_elements("softmax of stored", kl::eval(shifted / kl::sum(shifted, -1, kl::keepdims)), t, softmax_of, 1e-5L, 0);
  const auto e = kl::let(kl::exp(x - kl::max(x, -1, kl::keepdims)));
  expect_elements("softmax by let", kl::eval(e / kl::sum(e, -1, kl::keepdims)), t, softmax_of, 1e-5L, 0);
  const auto columns = kl::jit([](auto v) {
    auto powers = kl::exp(v - kl::max(v, 0, kl::keepdims));
    return powers / kl::sum(powers, 0, kl::keepdims);
  });
  expect_elements("softmax of columns", kl::eval(columns(x.t()).t()), t, softmax_of, 1e-5L, 0);
}

TEST_P(Normalisation, special_rows) {
  const float inf = std::numeric_limits<float>::infinity();
  const kl::Array<float> x = kl::from_host(std::vector<float>{-inf, 0, -inf, 1000, 1000, -1000}, {2, 3});
  EXPECT_EQ(softmax(x).to_host(), (std::vector<float>{0, 1, 0, 0.5f, 0.5f, 0}));
  for (const float v : softmax(kl::full({1, 40}, -inf)).to_host()) EXPECT_TRUE(std::isnan(v)) << "-inf - -inf";
  for (const float v : standardise(kl::ones<float>({1, 40})).to_host()) EXPECT_TRUE(std::isnan(v)) << "0 / 0";
}

TEST_P(Normalisation, in_place) {
  const Tensor<float> t = random_tensor<float>({6, 500}, 2);
  kl::Array<float> x = on_device(t);
  softmax.into(x)(x);
  expect_elements("softmax", x, t, softmax_of, 1e-5L, 0);
}

// ------------------------------------------------------------------ kernels
TEST_P(Normalisation, takes_one_kernel) {
  const kl::Array<float> x = kl::ones<float>({64, 1024}), w = kl::ones<float>({1024});
  const kl::Array<std::int64_t> label = kl::zeros<std::int64_t>({64});
  const auto expect_kernels = [](const char* what, const kl::Inspection& i, std::size_t count) {
    EXPECT_EQ(i.kernels.size(), count) << what << "\n" << i.explain();
  };
  expect_kernels("softmax", softmax.inspect(x), 1);
  expect_kernels("log_softmax", log_softmax.inspect(x), 1);
  expect_kernels("layernorm", layernorm.inspect(x, w, w, 1e-5f), 1);
  expect_kernels("rmsnorm", rmsnorm.inspect(x, w, 1e-5f), 1);
  expect_kernels("cross_entropy", cross_entropy.inspect(x, label), 1);
  expect_kernels("standardise", standardise.inspect(x), 1);
  expect_kernels("l2_normalise", l2_normalise.inspect(x), 1);
  expect_kernels("sqrt(sum(x * x))", kl::inspect(kl::sqrt(kl::sum(x * x))), 1);
  expect_kernels("norm", kl::inspect(kl::norm(x, 0)), 1);
  const auto moments = kl::jit([](auto v) { return std::tuple(kl::mean(v, 0), kl::var(v, 0)); });
  expect_kernels("mean and var", moments.inspect(x), 1);
  const auto largest = kl::jit([](auto v) { return std::tuple(kl::max(v, -1), kl::argmax(v, -1)); });
  expect_kernels("max and argmax", largest.inspect(x), 1);
  const auto siblings = kl::jit([](auto v) { return std::tuple(kl::sum(v, 0), kl::sum(v * v, 0), kl::max(v, 0)); });
  expect_kernels("siblings on columns", siblings.inspect(x), 1);
  const auto columns = kl::jit([](auto v) {
    const auto e = kl::exp(v - kl::max(v, 0, kl::keepdims));
    return e / kl::sum(e, 0, kl::keepdims);
  });
  expect_kernels("softmax of columns", columns.inspect(kl::ones<float>({1024, 1024})), 1);
  const kl::Array<float> long_line = kl::ones<float>({1 << 24});
  expect_kernels("x / norm(x) of a long vector", kl::inspect(long_line / kl::norm(long_line)), 2);
}

TEST_P(Normalisation, inline_expressions_share_reductions_of_the_same_array) {
  const kl::Array<float> x = kl::ones<float>({64, 1024});
  const auto e = kl::exp(x - kl::max(x, -1, kl::keepdims));
  const kl::Inspection i = kl::inspect(e / kl::sum(e, -1, kl::keepdims));
  EXPECT_EQ(i.kernels.size(), 1u) << i.explain();
}

}  // namespace
