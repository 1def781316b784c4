// tests/unit/dsl/recorder_reductions_test.cpp -- what each reduction and scan records: nodes, types and axes.
#include <complex>
#include <limits>
#include <tuple>

#include <gtest/gtest.h>
#include <kiln/error.h>

#include "tests/support/cpu_compiler.h"
#include "tests/unit/dsl/traced.h"

namespace kiln::dsl {
namespace {

namespace kl = kiln;
using test::message_of;
using test::text_of;
using test::traced_text;

class Reductions : public testing::Test {
 protected:
  kl::DeviceGuard cpu_{kl::Device::cpu()};
  kl::Array<float> x_{{3, 4}};
  kl::Array<std::int8_t> small_{{3, 4}};
  kl::Array<kl::half> half_{{3, 4}};
  kl::Array<bool> flag_{{3, 4}};
};

TEST_F(Reductions, SumNamesItsAxes) {
  EXPECT_EQ(text_of(kl::sum(x_)), "%0 = f32 input 0\n%1 = f32 reduce sum axis 0 axis 1 %0\nreturn %1\n");
  EXPECT_EQ(text_of(kl::sum(x_, -1)), "%0 = f32 input 0\n%1 = f32 reduce sum axis 1 %0\nreturn %1\n");
  EXPECT_EQ(text_of(kl::sum(x_, {0, -1}, kl::keepdims)),
            "%0 = f32 input 0\n%1 = f32 reduce sum axis 0 axis 1 keepdims %0\nreturn %1\n");
  EXPECT_EQ(text_of(kl::sum(x_, kl::keepdims, 0)),
            "%0 = f32 input 0\n%1 = f32 reduce sum axis 0 keepdims %0\nreturn %1\n");
  EXPECT_EQ(text_of(kl::sum(x_, std::vector<int>{1})), text_of(kl::sum(x_, 1)));
  EXPECT_EQ(text_of(kl::sum(x_, {kl::lit(1), 0})), text_of(kl::sum(x_, {1, 0})));
}

TEST_F(Reductions, TracedAndInlineRecordTheSame) {
  EXPECT_EQ(traced_text<float>(2, [](auto x) { return kl::var(x, 1, kl::ddof(1)); }),
            text_of(kl::var(x_, 1, kl::ddof(1))));
  EXPECT_EQ(traced_text<float>(2, [](auto x) { return kl::exp(kl::norm(x, -1, kl::keepdims)); }),
            text_of(kl::exp(kl::norm(x_, -1, kl::keepdims))));
  EXPECT_EQ(traced_text<float>(2, [](auto x) { return kl::all(x, 0); }), text_of(kl::all(x_, 0)));
}

TEST_F(Reductions, SumsOfIntegersAreWide) {
  EXPECT_EQ(text_of(kl::sum(small_, 0)),
            "%0 = i8 input 0\n%1 = i64 cast %0\n%2 = i64 reduce sum axis 0 %1\nreturn %2\n");
  EXPECT_EQ(text_of(kl::prod(flag_, 0)),
            "%0 = b1 input 0\n%1 = i64 cast %0\n%2 = i64 reduce prod axis 0 %1\nreturn %2\n");
  EXPECT_EQ(text_of(kl::sum(half_, 0)), "%0 = f16 input 0\n%1 = f16 reduce sum axis 0 %0\nreturn %1\n");
}

TEST_F(Reductions, AccumulateCastsTheOperandFirst) {
  const std::string text = "%0 = i8 input 0\n%1 = f32 cast %0\n%2 = f32 reduce sum axis 1 keepdims %1\nreturn %2\n";
  EXPECT_EQ(text_of(kl::sum(small_, kl::accumulate<float>, 1, kl::keepdims)), text);
  EXPECT_EQ(text_of(kl::sum(small_, 1, kl::accumulate<float>, kl::keepdims)), text);
  EXPECT_EQ(text_of(kl::sum(small_, 1, kl::keepdims, kl::accumulate<float>)), text);
  EXPECT_EQ(text_of(kl::sum(small_, kl::accumulate<std::int64_t>, 0)), text_of(kl::sum(small_, 0)));
}

TEST_F(Reductions, MeanDividesTheSumByTheNumberOfElements) {
  EXPECT_EQ(text_of(kl::mean(x_, 1)),
            "%0 = f32 input 0\n%1 = f32 reduce sum axis 1 %0\n%2 = f32 extent sum axis 1 %0\n%3 = f32 div %1, %2\n"
            "return %3\n");
  EXPECT_EQ(text_of(kl::mean(small_)),
            "%0 = i8 input 0\n%1 = f64 cast %0\n%2 = f64 reduce sum axis 0 axis 1 %1\n"
            "%3 = f64 extent sum axis 0 axis 1 %1\n%4 = f64 div %2, %3\nreturn %4\n");
}

TEST_F(Reductions, QuotientsOfHalfAreNotRoundedAndTheirCountDoesNotOverflow) {
  EXPECT_EQ(text_of(kl::mean(half_, 0)),
            "%0 = f16 input 0\n%1 = f16 reduce sum axis 0 %0\n%2 = f32 cast %1\n%3 = f32 extent sum axis 0 %0\n"
            "%4 = f32 div %2, %3\n%5 = f16 cast unrounded %4\nreturn %5\n");
  EXPECT_EQ(text_of(kl::std_(half_, 0, kl::ddof(1))),
            "%0 = f16 input 0\n%1 = f32 extent sum axis 0 %0\n%2 = f16 reduce squared_deviations axis 0 %0, %1\n"
            "%3 = f32 cast %2\n%4 = f32 extent sum axis 0 less 1 %0\n%5 = f32 div %3, %4\n%6 = f32 sqrt %5\n"
            "%7 = f16 cast unrounded %6\nreturn %7\n");
}

TEST_F(Reductions, VarianceOfComplexAddsItsParts) {
  kl::Array<std::complex<double>> z({5});
  EXPECT_EQ(text_of(kl::var(z)),
            "%0 = c128 input 0\n%1 = f64 real %0\n%2 = f64 extent sum axis 0 %0\n"
            "%3 = f64 reduce squared_deviations axis 0 %1, %2\n%4 = f64 imag %0\n"
            "%5 = f64 reduce squared_deviations axis 0 %4, %2\n%6 = f64 add %3, %5\n%7 = f64 div %6, %2\n"
            "return %7\n");
}

TEST_F(Reductions, NormIsTheRootOfTheSumOfSquares) {
  EXPECT_EQ(text_of(kl::norm(x_)),
            "%0 = f32 input 0\n%1 = f32 mul %0, %0\n%2 = f32 reduce sum axis 0 axis 1 %1\n%3 = f32 sqrt %2\n"
            "return %3\n");
  kl::Array<std::complex<float>> z({5});
  EXPECT_EQ(text_of(kl::norm(z)),
            "%0 = c64 input 0\n%1 = f32 real %0\n%2 = f32 mul %1, %1\n%3 = f32 imag %0\n%4 = f32 mul %3, %3\n"
            "%5 = f32 add %2, %4\n%6 = f32 reduce sum axis 0 %5\n%7 = f32 sqrt %6\nreturn %7\n");
}

TEST_F(Reductions, TruthIsNotZero) {
  EXPECT_EQ(text_of(kl::any(flag_, 0)), "%0 = b1 input 0\n%1 = b1 reduce any axis 0 %0\nreturn %1\n");
  EXPECT_EQ(text_of(kl::all(x_, 1, kl::keepdims)),
            "%0 = f32 input 0\n%1 = f32 literal 0x00000000 (0)\n%2 = b1 ne %0, %1\n"
            "%3 = b1 reduce all axis 1 keepdims %2\nreturn %3\n");
  EXPECT_EQ(text_of(kl::count_nonzero(flag_)),
            "%0 = b1 input 0\n%1 = i64 cast %0\n%2 = i64 reduce sum axis 0 axis 1 %1\nreturn %2\n");
}

TEST_F(Reductions, PositionsCountInTheOrderOfTheReducedAxes) {
  EXPECT_EQ(text_of(kl::argmax(x_, -1)),
            "%0 = f32 input 0\n%1 = i64 index axis 1 %0\n%2 = i64 reduce argmax axis 1 %0, %1\nreturn %2\n");
  EXPECT_EQ(text_of(kl::argmin(x_)),
            "%0 = f32 input 0\n%1 = i64 index axis 0 %0\n%2 = i64 extent sum axis 1 %0\n%3 = i64 mul %1, %2\n"
            "%4 = i64 index axis 1 %0\n%5 = i64 add %3, %4\n%6 = i64 reduce argmin axis 0 axis 1 %0, %5\nreturn %6\n");
}

TEST_F(Reductions, ExtremesKeepTheTypeAndBoolGoesByWayOfU8) {
  EXPECT_EQ(text_of(kl::max(half_, 0)), "%0 = f16 input 0\n%1 = f16 reduce max axis 0 %0\nreturn %1\n");
  EXPECT_EQ(text_of(kl::min(flag_, 0)),
            "%0 = b1 input 0\n%1 = u8 cast %0\n%2 = u8 reduce min axis 0 %1\n%3 = u8 literal 0x00 (0)\n"
            "%4 = b1 ne %2, %3\nreturn %4\n");
}

TEST_F(Reductions, LogsumexpOfIntegersIsInF64) {
  EXPECT_EQ(text_of(kl::logsumexp(small_, 1)),
            "%0 = i8 input 0\n%1 = f64 cast %0\n%2 = f64 reduce logsumexp axis 1 %1\nreturn %2\n");
}

TEST_F(Reductions, NoAxesAtAllMeanEveryElementByItself) {
  EXPECT_EQ(text_of(kl::sum(x_, {})),
            "%0 = f32 input 0\n%1 = f32 view unsqueeze(0) %0\n%2 = f32 reduce sum axis 0 %1\nreturn %2\n");
  kl::Array<float> single(kl::Shape{});
  EXPECT_EQ(text_of(kl::max(single)),
            "%0 = f32 input 0\n%1 = f32 view unsqueeze(0) %0\n%2 = f32 reduce max axis 0 %1\nreturn %2\n");
}

TEST_F(Reductions, ScansRunAlongOneAxis) {
  EXPECT_EQ(text_of(kl::cumsum(small_, -2)),
            "%0 = i8 input 0\n%1 = i64 cast %0\n%2 = i64 scan sum axis 0 %1\nreturn %2\n");
  kl::Array<float> line({7});
  EXPECT_EQ(text_of(kl::cummax(line)), "%0 = f32 input 0\n%1 = f32 scan max axis 0 %0\nreturn %1\n");
  EXPECT_EQ(text_of(kl::cumprod(x_, 1)), "%0 = f32 input 0\n%1 = f32 scan prod axis 1 %0\nreturn %1\n");
}

TEST_F(Reductions, FunctionsOfTheUserBecomeGraphs) {
  EXPECT_EQ(text_of(kl::reduce(
                x_, 1, 1, [](auto a, auto b) { return a * b; }, kl::keepdims)),
            "%0 = f32 input 0\n%1 = f32 literal 0x3f800000 (1)\n%2 = f32 reduce combine axis 1 keepdims {\n"
            "%0 = f32 input 0\n%1 = f32 input 1\n%2 = f32 mul %0, %1\nreturn %2\n} %0, %1\nreturn %2\n");
  const auto larger = [](auto a, auto b) { return kl::maximum(a, b); };
  EXPECT_EQ(text_of(kl::reduce(x_, -std::numeric_limits<double>::infinity(), larger)),
            traced_text<float>(2, [&](auto x) { return kl::reduce(x, {0, 1}, -INFINITY, larger); }));
}

TEST_F(Reductions, ScansByFunctionsOfTheUserKeepTheShape) {
  EXPECT_EQ(text_of(kl::scan(x_, -1, 0, [](auto a, auto b) { return a + b; })),
            "%0 = f32 input 0\n%1 = f32 literal 0x00000000 (0)\n%2 = f32 scan combine axis 1 {\n"
            "%0 = f32 input 0\n%1 = f32 input 1\n%2 = f32 add %0, %1\nreturn %2\n} %0, %1\nreturn %2\n");
  EXPECT_NE(message_of([&] {
              text_of(kl::scan(x_, {0, 1}, 0, [](auto a, auto b) { return a + b; }));
            }).find("kl::scan: axes (0, 1)"),
            std::string::npos);
}

const auto first_largest = [](auto a, auto b) {
  auto [v, i] = a;
  auto [w, j] = b;
  auto left = (v > w) || ((v == w) && (i < j));
  return std::tuple(kl::where(left, v, w), kl::where(left, i, j));
};

TEST_F(Reductions, TuplesAreReducedTogether) {
  KILN_NEEDS_CPU_COMPILER();
  const auto [value, position] =
      kl::reduce(std::tuple(x_, kl::index(x_, 1)), 1, std::tuple(-INFINITY, std::int64_t{4}), first_largest);
  static_assert(decltype(value)::dtype == DType::f32 && decltype(position)::dtype == DType::i64);
  const std::string text = text_of(position);
  for (const char* part : {"%1 = i64 iota 1\n", "%2 = f32 tuple %0, %1\n", "i64 literal 0x0000000000000004 (4)\n",
                           "f32 reduce combine axis 1 {\n", "i64 element 1 "}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  EXPECT_NE(text_of(value).find("f32 element 0 "), std::string::npos);
}

TEST_F(Reductions, EqualFunctionsOfTheUserAreOneNode) {
  EXPECT_EQ(traced_text<float>(1,
                               [](auto x) {
                                 auto once = kl::reduce(x, 0, 0, [](auto a, auto b) { return a + b; });
                                 auto again = kl::reduce(x, 0, 0, [](auto a, auto b) { return a + b; });
                                 return once * again;
                               }),
            "%0 = f32 input 0\n%1 = f32 literal 0x00000000 (0)\n%2 = f32 reduce combine axis 0 {\n"
            "%0 = f32 input 0\n%1 = f32 input 1\n%2 = f32 add %0, %1\nreturn %2\n} %0, %1\n"
            "%3 = f32 mul %2, %2\nreturn %3\n");
}

// ------------------------------------------------------------------ refusals
TEST_F(Reductions, BadAxesNameOperationRankLineAndWhatToDo) {
  const auto expect_names = [](const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  };
  const std::string line = "recorder_reductions_test.cpp:" + std::to_string(__LINE__ + 1);
  expect_names(message_of([&] { text_of(kl::sum(x_, 2)); }), {"kl::sum", "axis 2", "rank 2", line.c_str(), "-2 to 1"});
  expect_names(message_of([&] { text_of(kl::mean(x_, {1, -1})); }), {"kl::mean", "(1, -1)", "axis -1 twice"});
  expect_names(message_of([&] { text_of(kl::cumsum(x_)); }), {"kl::cumsum", "rank 2", "needs an axis"});
  expect_names(message_of([&] { text_of(kl::cumsum(x_, {0, 1})); }), {"kl::cumsum", "(0, 1)", "one axis"});
  expect_names(message_of([&] { text_of(kl::max(kl::sum(x_), 0)); }), {"kl::max", "axis 0", "without axes"});
  expect_names(message_of([&] { kl::sum(x_, 8); }), {"axis 8", "at most 8", "recorder_reductions_test.cpp"});
  expect_names(message_of([&] { kl::sum(x_, 0, 1); }), {"two axis arguments", "braces"});
  EXPECT_THROW(kl::sum(x_, {0, 1, 2, 3, 4, 5, 6, 7, 0}), ShapeError);
}

TEST_F(Reductions, TheFunctionOfAReduceIsElementwise) {
  EXPECT_THROW(text_of(kl::reduce(x_, 0, 0, [](auto a, auto b) { return a + kl::sum(b); })), TypeError);
  EXPECT_THROW(text_of(kl::reduce(small_, 0, 300, [](auto a, auto b) { return a + b; })), TypeError)
      << "the identity does not fit i8";
}

TEST(ReductionTypes, FollowTheRules) {
  using detail::Reducing;
  using detail::reduction_type;
  static_assert(reduction_type(Reducing::sum, DType::i16).result == DType::i64);
  static_assert(reduction_type(Reducing::prod, DType::u8).result == DType::u64);
  static_assert(reduction_type(Reducing::sum, DType::b1).result == DType::i64);
  static_assert(reduction_type(Reducing::sum, DType::bf16).result == DType::bf16);
  static_assert(reduction_type(Reducing::sum, DType::c64).result == DType::c64);
  static_assert(reduction_type(Reducing::mean, DType::i32).result == DType::f64);
  static_assert(reduction_type(Reducing::mean, DType::c128).result == DType::c128);
  static_assert(reduction_type(Reducing::std_, DType::c64).result == DType::f32);
  static_assert(reduction_type(Reducing::norm, DType::u16).result == DType::f64);
  static_assert(reduction_type(Reducing::argmax, DType::f16).result == DType::i64);
  static_assert(reduction_type(Reducing::max, DType::u8).result == DType::u8);
  static_assert(reduction_type(Reducing::any, DType::c64).result == DType::b1);
  static_assert(reduction_type(Reducing::count_nonzero, DType::f64).result == DType::i64);
  static_assert(reduction_type(Reducing::cumsum, DType::u32).result == DType::u64);
  static_assert(reduction_type(Reducing::max, DType::c64).fault != detail::ReductionFault::none);
  static_assert(detail::accumulating_type(Reducing::mean, DType::i64).fault != detail::ReductionFault::none);
}

}  // namespace
}  // namespace kiln::dsl
