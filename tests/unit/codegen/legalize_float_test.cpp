// tests/unit/codegen/legalize_float_test.cpp -- floating-point meanings of api.md section 8.
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>

#include <kiln/error.h>

#include "interpreter.h"

namespace kiln::codegen::testing {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct PythonDivision {
  double x, y, quotient, remainder;
};

TEST(LegalizeFloat, FloorDivideAndRemainderEqualPython) {
  const PythonDivision table[] = {
      // printed by CPython 3.11: x, y, x // y, x % y
      {7.5, -2.0, -4.0, -0.5},
      {-7.5, 2.0, -4.0, 0.5},
      {1.0, inf, 0.0, 1.0},
      {-1.0, inf, -1.0, inf},
      {1.0, -inf, -1.0, -inf},
      {-0.0, 3.0, -0.0, 0.0},
      {0.0, -3.0, -0.0, -0.0},
      {5.0, 0.1, 49.0, 0x1.9999999999986p-4},
      {-5.0, 0.1, -50.0, 0x1.4p-52},
      {1e300, 1e-10, inf, 0x1.e1bb03961d662p-35},
      {6.0, 3.0, 2.0, 0.0},
      {-6.0, 3.0, -2.0, 0.0},
      {0.3, 0.1, 2.0, 0x1.9999999999998p-4},
      // NumPy, where Python raises
      {1.0, 0.0, inf, nan},
      {-1.0, 0.0, -inf, nan},
      {0.0, 0.0, nan, nan},
      {inf, 2.0, nan, nan},
      {nan, 2.0, nan, nan},
      {2.0, nan, nan, nan},
  };
  const Compiled quotient(Op::floor_divide, {DType::f64, DType::f64}), rest(Op::remainder, {DType::f64, DType::f64});
  for (const PythonDivision& row : table) {
    EXPECT_TRUE(same(quotient.call<double>(row.x, row.y), row.quotient)) << row.x << " // " << row.y;
    EXPECT_TRUE(same(rest.call<double>(row.x, row.y), row.remainder)) << row.x << " % " << row.y;
  }
}

TEST(LegalizeFloat, RemainderHasTheSignOfTheDivisorAndTheQuotientMatchesIt) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> values(-100, 100);
  const Compiled quotient(Op::floor_divide, {DType::f32, DType::f32}), rest(Op::remainder, {DType::f32, DType::f32});
  for (int i = 0; i < 2000; ++i) {
    const float x = values(random), y = values(random);
    const long double exact = std::floor(static_cast<long double>(x) / y);
    EXPECT_EQ(quotient.call<float>(x, y), static_cast<float>(exact)) << x << " // " << y;
    const long double wanted = std::fmod(static_cast<long double>(x), y);
    const auto shifted = static_cast<float>(wanted != 0 && (wanted < 0) != (y < 0) ? wanted + y : wanted);
    EXPECT_EQ(rest.call<float>(x, y), shifted) << x << " % " << y;
  }
}

TEST(LegalizeFloat, BoundsPropagateNanAndOrderZeros) {
  EXPECT_TRUE(same(apply<float>(Op::maximum, -0.0f, 0.0f), 0.0f));
  EXPECT_TRUE(same(apply<float>(Op::minimum, 0.0f, -0.0f), -0.0f));
  EXPECT_TRUE(std::isnan(apply<double>(Op::maximum, nan, 1.0)));
  EXPECT_TRUE(std::isnan(apply<double>(Op::minimum, 1.0, nan)));
  EXPECT_EQ(apply<double>(Op::fmax, nan, 1.0), 1.0);
  EXPECT_EQ(apply<double>(Op::fmin, 1.0, nan), 1.0);
  EXPECT_EQ(apply<double>(Op::clip, 5.0, -1.0, 2.0), 2.0);
  EXPECT_TRUE(std::isnan(apply<double>(Op::clip, nan, -1.0, 2.0)));
  EXPECT_EQ(apply<double>(Op::clip, 0.0, 3.0, 2.0), 2.0);  // NumPy: the upper bound wins
  EXPECT_TRUE(std::isnan(apply<float>(Op::relu, std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(same(apply<float>(Op::relu, -3.0f), 0.0f));
}

TEST(LegalizeFloat, TestsAndSigns) {
  for (const double x : {0.0, -0.0, 1.0, -2.5, inf, -inf, nan, 1e-320, 1.7e308}) {
    EXPECT_EQ(apply<bool>(Op::isnan, x), std::isnan(x)) << x;
    EXPECT_EQ(apply<bool>(Op::isinf, x), std::isinf(x)) << x;
    EXPECT_EQ(apply<bool>(Op::isfinite, x), std::isfinite(x)) << x;
    EXPECT_TRUE(same(apply<double>(Op::sign, x), x != x ? nan : x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0)) << x;
    EXPECT_TRUE(same(apply<double>(Op::arg, x), std::atan2(0.0, x))) << x;
  }
  EXPECT_TRUE(apply<bool>(Op::isinf, half::from_bits(0x7c00)));
  EXPECT_FALSE(apply<bool>(Op::isinf, half::from_bits(0x7bff)));
}

/// `got` within `ulps` units in the last place of the long double value.
template <class T>
void expect_close(T got, long double want, double ulps, const char* what, T x) {
  const T rounded = static_cast<T>(want);
  const long double unit =
      static_cast<long double>(std::nextafter(std::fabs(rounded), std::numeric_limits<T>::infinity())) -
      std::fabs(static_cast<long double>(rounded));
  EXPECT_LE(std::fabs(static_cast<long double>(got) - want), ulps * unit)
      << what << "(" << x << ") = " << got << ", not " << rounded;
}

template <class T>
void check_activations() {
  const Compiled sigmoid(Op::sigmoid, {dtype_of<T>}), silu(Op::silu, {dtype_of<T>}),
      softplus(Op::softplus, {dtype_of<T>}), gelu(Op::gelu, {dtype_of<T>}), gelu_tanh(Op::gelu_tanh, {dtype_of<T>});
  for (T x = -80; x <= 80; x += T(0.37)) {
    const long double v = x;
    expect_close<T>(sigmoid.template call<T>(x), 1 / (1 + std::exp(-v)), 4, "sigmoid", x);
    expect_close<T>(silu.template call<T>(x), v / (1 + std::exp(-v)), 4, "silu", x);
    expect_close<T>(softplus.template call<T>(x), std::log1p(std::exp(v)), 4, "softplus", x);
    const long double exact = 0.5L * v * std::erfc(-v * std::sqrt(0.5L));
    if (sizeof(T) == 8 && x > -8) expect_close<T>(gelu.template call<T>(x), exact, 200, "gelu", x);
    EXPECT_NEAR(gelu.template call<T>(x), static_cast<double>(exact), 2e-7 * std::fabs(x)) << x;
    const long double u = std::sqrt(2 / 3.14159265358979323846264L) * (v + 0.044715L * v * v * v);
    EXPECT_NEAR(gelu_tanh.template call<T>(x), static_cast<double>(0.5L * v * (1 + std::tanh(u))),
                2e-7 * std::fabs(x) + 1e-12)
        << x;
  }
  EXPECT_EQ(sigmoid.template call<T>(T(-inf)), T(0));
  EXPECT_EQ(sigmoid.template call<T>(T(inf)), T(1));
  EXPECT_EQ(softplus.template call<T>(T(inf)), T(inf));
  EXPECT_EQ(softplus.template call<T>(T(1000)), T(1000));
  for (const Compiled* f : {&sigmoid, &silu, &softplus, &gelu, &gelu_tanh}) EXPECT_TRUE(std::isnan(f->call<T>(T(nan))));
}

TEST(LegalizeFloat, ActivationsAreStableInBothTails) {
  check_activations<float>();
  check_activations<double>();
}

/// x / (1 + exp(-|x|)) as legalize writes it for itself (`library`) and as a user may write it.
NodeId quotient(Graph& graph, NodeId x, bool library) {
  Builder b(graph);
  const NodeId divisor = b.add(b.like(x, 1.0), b.op(Op::exp, b.neg(b.abs(x))));
  return library ? b.library_op(Op::div, x, divisor) : b.div(x, divisor);
}

TEST(LibraryForms, AreOtherNodesThanTheUsers) {
  Graph graph;
  const NodeId x = graph.load(0, DType::f32);
  graph.outputs = {quotient(graph, x, false), quotient(graph, x, true), quotient(graph, x, true)};
  EXPECT_NE(graph.outputs[0], graph.outputs[1]);
  EXPECT_EQ(graph.outputs[1], graph.outputs[2]);
  const std::string text = to_text(run_pipeline(graph, {}));
  EXPECT_NE(text.find("f32 div %"), std::string::npos) << text;
  EXPECT_NE(text.find("f32 div.library %"), std::string::npos) << text;
}

TEST(LibraryForms, AppearOnlyInFloatFunctionsOfTheLibrary) {
  for (const Op op : {Op::sigmoid, Op::silu, Op::gelu, Op::gelu_tanh}) {
    for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
      const bool marked = to_text(Compiled(op, {type}).body()).find(".library") != std::string::npos;
      EXPECT_EQ(marked, type != DType::f64) << detail::op_info(op).name << " of " << name_of(type);
    }
  }
  for (const Op op : {Op::div, Op::true_divide, Op::floor_divide, Op::erf, Op::erfc, Op::tanh, Op::softplus}) {
    const std::vector<DType> operands(static_cast<std::size_t>(detail::op_info(op).arity), DType::f32);
    const std::string text = to_text(Compiled(op, operands).body());
    EXPECT_EQ(text.find(".library"), std::string::npos) << text;
  }
}

// Rule: a literal takes the same arithmetic as an array, so a form whose bits devices choose is never folded.
TEST(LibraryForms, AreNeitherFoldedNorSimplified) {
  Graph graph;
  Builder b(graph);
  const NodeId one = b.constant(DType::f32, 1), x = graph.load(0, DType::f32);
  graph.outputs = {b.library_op(Op::div, b.constant(DType::f32, 3), one), b.library_op(Op::div, x, one), b.div(x, one)};
  EXPECT_EQ(to_text(run_pipeline(graph, {})),
            "%0 = f32 literal 0x40400000 (3)\n%1 = f32 literal 0x3f800000 (1)\n%2 = f32 div.library %0, %1\n"
            "%3 = f32 load 0\n%4 = f32 div.library %3, %1\nreturn %2, %4, %3\n");
}

TEST(LibraryForms, OutsideTheGrammarAreRejected) {
  const auto body = [](DType type, Op op) {
    Graph graph;
    Builder b(graph);
    const NodeId x = graph.load(0, type);
    graph.outputs = {op == Op::div ? b.library_op(op, x, x) : b.library_op(op, x)};
    return graph;
  };
  EXPECT_NO_THROW(verify_legal(body(DType::f32, Op::div)));
  EXPECT_NO_THROW(verify_legal(body(DType::f32, Op::erf)));
  EXPECT_THROW(verify_legal(body(DType::f64, Op::div)), InternalError);
  EXPECT_THROW(verify_legal(body(DType::i32, Op::div)), InternalError);
  EXPECT_THROW(verify_legal(body(DType::f32, Op::exp)), InternalError);
  Graph traced;
  Builder b(traced);
  const NodeId x = traced.input(0, DType::f32);
  traced.outputs = {b.library_op(Op::div, x, x)};
  EXPECT_THROW(verify(traced, false), InternalError);
}

Compiled power_by(double exponent) {
  return Compiled({DType::f64}, [=](Graph& g, const std::vector<NodeId>& in) {
    return record(g, Op::pow, {in[0], g.literal_value(DType::f64, exponent)});
  });
}

TEST(LegalizeFloat, LiteralExponentsKeepEveryBitOfPow) {
  for (const double exponent : {0.0, 1.0, 2.0, -1.0, 0.5}) {
    const Compiled power = power_by(exponent);
    EXPECT_EQ(to_text(power.body()).find(" pow "), std::string::npos) << exponent;
    for (const double x : {0.0, -0.0, 1.0, -3.0, 0.1, inf, -inf, nan, 1e-200, 1e200, 5e-324}) {
      EXPECT_TRUE(same(power.call<double>(x), std::pow(x, exponent))) << x << " ** " << exponent;
    }
  }
  EXPECT_NE(to_text(power_by(3.0).body()).find(" pow "), std::string::npos) << "x*x*x rounds twice";
}

/// The body of one operation on one load with a literal on the right.
Graph simplified(Op op, DType type, double literal) {
  Graph graph;
  Builder b(graph);
  graph.outputs = {b.op(op, graph.load(0, type), b.constant(type, literal))};
  return eliminate_dead(simplify(graph, {}), {});
}

TEST(Simplify, OnlyWhatKeepsEveryFloat) {
  EXPECT_EQ(simplified(Op::mul, DType::f32, 1.0).size(), 1u);
  EXPECT_EQ(simplified(Op::add, DType::f32, -0.0).size(), 1u);
  EXPECT_EQ(simplified(Op::sub, DType::f32, 0.0).size(), 1u);
  EXPECT_EQ(simplified(Op::add, DType::f32, 0.0).size(), 3u) << "-0 + +0 is +0";
  EXPECT_EQ(simplified(Op::sub, DType::f32, -0.0).size(), 3u);
  EXPECT_EQ(simplified(Op::mul, DType::f32, 0.0).size(), 3u) << "inf * 0 is NaN";
  EXPECT_NE(to_text(simplified(Op::div, DType::f32, 4.0)).find("mul"), std::string::npos);
  EXPECT_NE(to_text(simplified(Op::div, DType::f32, 3.0)).find("div"), std::string::npos);
  EXPECT_EQ(to_text(simplified(Op::mul, DType::i32, 0.0)), "%0 = i32 literal 0x00000000 (0)\nreturn %0\n");
  EXPECT_EQ(simplified(Op::add, DType::i32, 0.0).size(), 1u);
  Graph graph;
  Builder b(graph);
  const NodeId x = graph.load(0, DType::f32);
  graph.outputs = {b.sub(x, x), b.op(Op::log, b.op(Op::exp, x)), b.neg(b.neg(x)), b.where(b.lt(x, x), x, x)};
  const Graph result = simplify(graph, {});
  EXPECT_EQ(to_text(result),
            "%0 = f32 load 0\n%1 = f32 sub %0, %0\n%2 = f32 exp %0\n%3 = f32 log %2\nreturn %1, %3, %0, %0\n");
}

TEST(Fold, RoundsAsTheDevicesDoAndLeavesFunctionsAlone) {
  Graph graph;
  Builder b(graph);
  const auto f = [&](double x) { return b.constant(DType::f32, x); };
  graph.outputs = {b.add(f(16777216), f(1)),
                   b.div(f(1), f(3)),
                   b.fma(f(0x1.000006p0), f(0x1.000006p0), f(-1)),
                   b.op(Op::round, f(2.5)),
                   b.op(Op::exp, f(1)),
                   b.op(Op::maximum, f(-0.0), f(0.0)),
                   b.neg(b.bits(DType::f32, 0x7fc12345))};
  const Graph folded = fold_constants(graph, {});
  const auto bits = [&](std::size_t i) { return folded[folded.outputs[i]].payload; };
  EXPECT_EQ(bits(0), 0x4b800000u);  // 2^24 + 1 ties to even
  EXPECT_EQ(bits(1), 0x3eaaaaabu);
  EXPECT_EQ(bits(2), 0x35400002u);  // 6 * 2^-23 + 9 * 2^-46, rounded once
  EXPECT_EQ(bits(3), 0x40000000u);
  EXPECT_EQ(folded[folded.outputs[4]].op, Op::exp);
  EXPECT_EQ(bits(5), 0u);
  EXPECT_EQ(bits(6), 0xffc12345u);
}

TEST(Fold, DoesNotDependOnTheRoundingModeOfTheHost) {
  Graph graph;
  Builder b(graph);
  graph.outputs = {b.div(b.constant(DType::f64, 1), b.constant(DType::f64, 3))};
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const Graph folded = run_pipeline(graph, {});
  EXPECT_EQ(std::fegetround(), FE_UPWARD) << "the host's mode is restored";
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(folded[folded.outputs[0]].payload, 0x3fd5555555555555u);
}

TEST(Legal, TheGrammarCheckRejectsWhatEmittersCannotPrint) {
  Graph graph;
  Builder b(graph);
  graph.outputs = {b.op(Op::sigmoid, graph.load(0, DType::f32))};
  EXPECT_THROW(verify_legal(graph), InternalError);
  Graph storage;
  graph.outputs = {};
  storage.outputs = {Builder(storage).add(storage.load(0, DType::f16), storage.load(1, DType::f16))};
  EXPECT_THROW(verify_legal(storage), InternalError);
}

}  // namespace
}  // namespace kiln::codegen::testing
