// tests/unit/codegen/op_info_test.cpp -- the type rule of the operation table.
#include <gtest/gtest.h>

#include "codegen/ir/op_info.h"

namespace kiln::codegen {
namespace {

TypeRule rule(Op op, std::vector<DType> types) { return type_rule(op, types); }

struct Expected {
  Op op;
  std::vector<DType> operands;
  DType operand, result;
};

TEST(TypeRule, FollowsThePromotionTableAndTheResultColumn) {
  using enum DType;
  const Expected table[] = {
      {Op::add, {i8, i8}, i8, i8},         {Op::add, {i8, u8}, i16, i16},
      {Op::add, {i32, f32}, f64, f64},  // as NumPy
      {Op::add, {bf16, f16}, f32, f32},    {Op::add, {b1, b1}, b1, b1},
      {Op::mul, {f64, c64}, c128, c128},   {Op::add, {i64, u64}, f64, f64},
      {Op::sqrt, {i8}, f64, f64},          {Op::sqrt, {b1}, f64, f64},
      {Op::sqrt, {f16}, f16, f16},         {Op::true_divide, {i32, i32}, f64, f64},
      {Op::abs, {c64}, c64, f32},          {Op::abs, {i8}, i8, i8},
      {Op::arg, {i32}, f64, f64},          {Op::arg, {c128}, c128, f64},
      {Op::real, {c64}, c64, f32},         {Op::lt, {f32, i64}, f64, b1},
      {Op::isnan, {f16}, f16, b1},         {Op::where, {b1, i32, f32}, f64, f64},
      {Op::clip, {i8, i16, u8}, i16, i16}, {Op::eq, {i32, u32}, i64, b1},
  };
  for (const Expected& row : table) {
    const TypeRule got = rule(row.op, row.operands);
    EXPECT_EQ(got.error, "");
    EXPECT_STREQ(name_of(got.operand), name_of(row.operand)) << detail::op_info(row.op).name;
    EXPECT_STREQ(name_of(got.result), name_of(row.result)) << detail::op_info(row.op).name;
    EXPECT_FALSE(got.keeps_operands);
  }
}

TEST(TypeRule, ComparisonsWithoutACommonIntegerTypeKeepTheirOperands) {
  using enum DType;
  for (const Op op : {Op::eq, Op::ne, Op::lt, Op::le, Op::gt, Op::ge}) {
    EXPECT_TRUE(rule(op, {i64, u64}).keeps_operands);
    EXPECT_TRUE(rule(op, {u64, i8}).keeps_operands);
    EXPECT_FALSE(rule(op, {u32, i64}).keeps_operands);
    EXPECT_FALSE(rule(op, {u64, f32}).keeps_operands);
    EXPECT_FALSE(rule(op, {u64, u64}).keeps_operands);
  }
}

TEST(TypeRule, ErrorsNameTheOperationTheKindsAndTheWayOut) {
  using enum DType;
  EXPECT_EQ(
      rule(Op::erf, {c64}).error,
      "kl::erf has no complex overload; it accepts bool, integer and floating operands, got (c64): take kl::real, "
      "kl::imag or kl::abs of the operand first");
  EXPECT_NE(rule(Op::lt, {c64, c64}).error, "");
  EXPECT_NE(rule(Op::sub, {b1, b1}).error.find("no bool overload"), std::string::npos);
  EXPECT_NE(rule(Op::bit_and, {i64, u64}).error.find("promote to f64"), std::string::npos);
  EXPECT_NE(rule(Op::shl, {f32, i32}).error, "");
  EXPECT_NE(rule(Op::where, {i32, f32, f32}).error.find("condition != 0"), std::string::npos);
  EXPECT_EQ(rule(Op::add, {f32}).error, "kl::add takes 2 operands, got 1");
}

TEST(OpInfo, RowsAreInEnumerationOrder) {
  EXPECT_STREQ(detail::op_info(Op::add).name, "add");
  EXPECT_STREQ(detail::op_info(Op::softplus).name, "softplus");
  EXPECT_EQ(detail::op_info(Op::fma).arity, 3);
  EXPECT_EQ(static_cast<int>(Op::softplus), op_count - 1);
}

}  // namespace
}  // namespace kiln::codegen
