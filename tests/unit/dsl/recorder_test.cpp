// tests/unit/dsl/recorder_test.cpp -- a trace is typed as it is recorded, and errors name the rule and the user's line.
#include "dsl/recorder.h"

#include <gtest/gtest.h>
#include <kiln/error.h>

#include "dsl/convert.h"
#include "tests/unit/dsl/call.h"

namespace kiln::dsl {
namespace {

using namespace test;
using codegen::NodeKind;

TEST(Recorder, OperandsAreCastToTheCommonType) {
  Recorder r({1, 1}, 0);
  const NodeId i = r.input(0, DType::i32), f = r.input(1, DType::f32);
  const NodeId sum = operation(r, Op::add, DType::f64, {i, f});
  const codegen::Node& node = r.graph()[sum];
  for (const NodeId operand : node.inputs()) {
    EXPECT_EQ(r.graph()[operand].kind, NodeKind::cast);
    EXPECT_EQ(r.graph()[operand].type, DType::f64);
  }
}

TEST(Recorder, EqualOperationsAreOneNode) {
  Recorder r({1, 1}, 0);
  const NodeId a = r.input(0, DType::f32), b = r.input(1, DType::f32);
  EXPECT_EQ(operation(r, Op::mul, DType::f32, {a, b}), operation(r, Op::mul, DType::f32, {a, b}));
}

TEST(Recorder, SignedZeroesAreDifferentLiterals) {  // A09
  Recorder r({}, 0);
  EXPECT_NE(r.literal(DType::f32, 0, 0, {}), r.literal(DType::f32, 0x80000000u, 0, {}));
}

TEST(Recorder, ResultTypesMustAgreeWithTheTable) {
  Recorder r({1}, 0);
  const NodeId a = r.input(0, DType::f32);
  try {
    operation(r, Op::add, DType::f64, {a, a});
    FAIL() << "f32 + f32 is not f64";
  } catch (const TypeError& error) {
    const std::string text = error.what();
    for (const char* part : {"add", "f32", "f64", "user.cpp:12"})
      EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
}

TEST(Recorder, RanksFollowViews) {
  Recorder r({3}, 0);
  const NodeId a = r.input(0, DType::f32);
  const std::int64_t numbers[] = {0, 6};
  EXPECT_EQ(r.rank(r.view(a, static_cast<int>(detail::ViewKind::reshape), numbers, 2, {})), 2);
  const std::int64_t item[] = {detail::slice_is_index | detail::slice_has_start, 0, 0, 1};
  EXPECT_EQ(r.rank(r.view(a, static_cast<int>(detail::ViewKind::slice), item, 4, {})), 2);
  const std::int64_t axis[] = {0};
  EXPECT_EQ(r.rank(r.view(a, static_cast<int>(detail::ViewKind::unsqueeze), axis, 1, {})), 4);
  EXPECT_THROW(r.index(a, 3, {}), ShapeError);
  EXPECT_EQ(r.graph()[r.index(a, -1, {})].payload, 2u);
}

template <class To, class From>
To converted(From value, bool expect = true) {
  alignas(8) unsigned char out[16] = {};
  EXPECT_EQ(convert_scalar(scalar(value), dtype_of<To>, out), expect);
  To result;
  std::memcpy(&result, out, sizeof result);
  return result;
}

TEST(Convert, IntegersThatFit) {
  EXPECT_EQ(converted<std::int8_t>(-128), -128);
  EXPECT_EQ(converted<std::uint64_t>(std::int64_t{5}), 5u);
  EXPECT_EQ(converted<std::int64_t>(9007199254740993LL), 9007199254740993LL);
  EXPECT_EQ(converted<std::int32_t>(3.0), 3);
  converted<std::int8_t>(128, false);
  converted<std::uint8_t>(-1, false);
  converted<std::int64_t>(9223372036854775808ull, false);
  converted<std::int32_t>(2.5, false);
  converted<std::int64_t>(9223372036854775808.0, false);
  converted<std::uint64_t>(18446744073709551616.0, false);
}

TEST(Convert, FloatsRoundOnce) {
  EXPECT_EQ(converted<float>(16777217), 16777216.0f);
  EXPECT_EQ(converted<float>(0.1), 0.1f);
  alignas(8) unsigned char out[16];
  // 1 + 2^-11 + 2^-40 is above the midpoint of two halves; rounding to f32 first would lose the 2^-40 and tie to even.
  ASSERT_TRUE(convert_scalar(scalar(1.0 + 0x1p-11 + 0x1p-40), DType::f16, out));
  float wide;
  std::memcpy(&wide, out, 4);
  EXPECT_EQ(wide, 1.0f + 0x1p-10f);
  ASSERT_TRUE(convert_scalar(scalar(1.0 + 0x1p-8 + 0x1p-40), DType::bf16, out));
  std::memcpy(&wide, out, 4);
  EXPECT_EQ(wide, 1.0f + 0x1p-7f);
  ASSERT_TRUE(convert_scalar(scalar(-(1.0 + 0x1p-11 + 0x1p-40)), DType::f16, out));
  std::memcpy(&wide, out, 4);
  EXPECT_EQ(wide, -(1.0f + 0x1p-10f));
}

}  // namespace
}  // namespace kiln::dsl
