// kiln/op.h -- the enumeration of operations, generated from ops.def.
#pragma once

#include <cstdint>

namespace kiln {

/// Every elementwise operation of kiln/ops.def, in table order.
enum class Op : std::uint16_t {
#define KILN_OP(id, arity, domain, result, cuda, llvm, doc) id,
#include <kiln/ops.def>
#undef KILN_OP
};

inline constexpr int op_count = 0
#define KILN_OP(id, arity, domain, result, cuda, llvm, doc) +1
#include <kiln/ops.def>
#undef KILN_OP
    ;

namespace detail {

/// How the type of a result follows from the common operand type (see ops.def).
enum class ResultRule : std::uint8_t { same, boolean, floating, real, realfloat, select };

struct OpInfo {
  const char* name;
  std::uint8_t arity;
  const char* domain;
  ResultRule result;
  const char* cuda;
  const char* llvm;
  const char* doc;
};

/// The table row of `op`; the single run-time copy of ops.def lives in libkiln (codegen/ir/op_info.cpp).
const OpInfo& op_info(Op op);

}  // namespace detail
}  // namespace kiln
