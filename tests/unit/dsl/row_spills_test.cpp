// tests/unit/dsl/row_spills_test.cpp -- no kernel of a reduction or normalisation along rows spills at the schedule
// that is chosen for it, nor of reductions along columns, or of several at once. KILN_TEST_EVERY_ROW=1 compiles every
// type, function and length; else a set that tells most.
#include <gtest/gtest.h>
#include <kiln/inspect.h>
#include <kiln/kiln.h>

#include <cstdlib>
#include <string>
#include <tuple>
#include <type_traits>

namespace kiln {
namespace {

/// Short integers and flags are normalised as floats.
template <class V>
auto number(V v) {
  using T = typename V::value_type;
  if constexpr (std::is_integral_v<T>) {
    return cast<float>(v);
  } else {
    return v;
  }
}

const auto softmax = jit([](auto x) {
  auto v = number(x);
  auto e = exp(v - max(v, -1, keepdims));
  return e / sum(e, -1, keepdims);
});
const auto layernorm = jit([](auto x, auto weight, auto bias, auto eps) {
  auto v = number(x);
  auto d = v - mean(v, -1, keepdims);
  return d * rsqrt(var(v, -1, keepdims) + eps) * weight + bias;
});
const auto log_sum_exp = jit([](auto x) { return logsumexp(number(x), -1); });
const auto total = jit([](auto x) { return sum(x, -1); });
const auto variance = jit([](auto x) { return var(number(x), -1); });

bool everything() { return std::getenv("KILN_TEST_EVERY_ROW") != nullptr; }

/// An architecture that need not be here; without NVRTC the test skips.
void expect_no_spills(const std::string& name, const Inspection& inspection) {
  for (const KernelInfo& kernel : inspection.kernels)
    EXPECT_EQ(kernel.spills, 0) << name << ": " << kernel.registers << " registers; " << kernel.schedule.c_str();
}

template <class T>
void expect_none_spills(const char* type, std::int64_t rows, std::int64_t length) {
  using Weight = std::conditional_t<std::is_integral_v<T>, float, T>;
  const Array<T> x({rows, length});
  const Array<Weight> weight({length}), bias({length});
  const std::string suffix =
      std::string(" of ") + type + ", " + std::to_string(rows) + " rows of " + std::to_string(length);
  expect_no_spills("softmax" + suffix, softmax.inspect_for("sm_90", x));
  expect_no_spills("layernorm" + suffix, layernorm.inspect_for("sm_90", x, weight, bias, 1e-5f));
  expect_no_spills("logsumexp" + suffix, log_sum_exp.inspect_for("sm_90", x));
  expect_no_spills("var" + suffix, variance.inspect_for("sm_90", x));
  if (everything()) expect_no_spills("sum" + suffix, total.inspect_for("sm_90", x));
}

template <class T>
void expect_no_length_spills(const char* type, std::initializer_list<std::int64_t> telling) {
  try {
    if (!everything()) {
      for (const std::int64_t length : telling) expect_none_spills<T>(type, 1024, length);
      return;
    }
    for (const std::int64_t length : {33, 1000, 1024, 1025, 4096, 4097, 8193, 50257, 128256, 128257}) {
      for (const std::int64_t rows : {8, 1024}) expect_none_spills<T>(type, rows, length);
    }
  } catch (const Error& error) {
    ASSERT_NE(std::string(error.what()).find("NVRTC"), std::string::npos) << error.what();
    GTEST_SKIP() << error.what();
  }
}

TEST(RowSpills, HalfPrecision) {
  expect_no_length_spills<half>("f16", {50257});
  expect_no_length_spills<bfloat16>("bf16", {1025, 128256});
}
TEST(RowSpills, SinglePrecision) { expect_no_length_spills<float>("f32", {4097, 50257}); }
TEST(RowSpills, DoublePrecision) { expect_no_length_spills<double>("f64", {1025, 4096, 4097, 50257}); }
TEST(RowSpills, ShortIntegers) {
  expect_no_length_spills<std::int8_t>("i8", {1000, 4096, 50257});
  expect_no_length_spills<std::int16_t>("i16", {50257, 128256});
}
TEST(RowSpills, UnsignedAndFlags) {
  expect_no_length_spills<std::uint8_t>("u8", {4096});
  expect_no_length_spills<bool>("b1", {1000});
}
TEST(RowSpills, Integers) {
  expect_no_length_spills<std::int32_t>("i32", {50257});
  expect_no_length_spills<std::int64_t>("i64", {4097});
}

const auto column_variance = jit([](auto x) { return var(x, 0); });
const auto column_mean = jit([](auto x) { return mean(x, 0); });
const auto column_log_sum_exp = jit([](auto x) { return logsumexp(x, 0); });
const auto everything_of_rows = jit([](auto x) {
  return std::tuple(sum(x, 1), prod(x, 1), max(x, 1), min(x, 1), mean(x, 1), var(x, 1), norm(x, 1), logsumexp(x, 1),
                    argmax(x, 1), argmin(x, 1), count_nonzero(x, 1));
});

// Columns whose elements are joined in a wider type, in few registers per column that is read; many states at once.
TEST(ColumnSpills, WideStatesAndManySiblings) {
  try {
    expect_no_spills("var of f32", column_variance.inspect_for("sm_90", Array<float>({50000, 30})));
    expect_no_spills("var of f64", column_variance.inspect_for("sm_90", Array<double>({5000, 300})));
    expect_no_spills("mean of i8", column_mean.inspect_for("sm_90", Array<std::int8_t>({5000, 300})));
    expect_no_spills("logsumexp of i32", column_log_sum_exp.inspect_for("sm_90", Array<std::int32_t>({50000, 30})));
    expect_no_spills("eleven of rows", everything_of_rows.inspect_for("sm_90", Array<float>({64, 1 << 18})));
  } catch (const Error& error) {
    ASSERT_NE(std::string(error.what()).find("NVRTC"), std::string::npos) << error.what();
    GTEST_SKIP() << error.what();
  }
}

}  // namespace
}  // namespace kiln
