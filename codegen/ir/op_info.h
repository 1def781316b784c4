// codegen/ir/op_info.h -- the type rule of the operation table: operand types in, common operand type and result type
// out.
#pragma once

#include <span>
#include <string>

#include <kiln/dtype.h>
#include <kiln/op.h>

namespace kiln::codegen {

/// What an operation does to types. Operands are cast to `operand` (the condition of `where` stays b1), except that a
/// comparison of two integers keeps both operand types when no integer type holds both (i64 with u64): legalize
/// compares them exactly.
struct TypeRule {
  DType operand = DType::f32;
  DType result = DType::f32;
  bool keeps_operands = false;  ///< operands stay as they are: an exact comparison of i64 with u64
  std::string error;            ///< empty, or the rule that the operands break and what to do
};

TypeRule type_rule(Op op, std::span<const DType> operands);

/// True for eq ne lt le gt ge.
constexpr bool is_comparison(Op op) { return op >= Op::eq && op <= Op::ge; }

}  // namespace kiln::codegen
