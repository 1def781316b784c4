// tests/fuzz/reference_zeros.cpp -- which results are exact zeros, and what is said of their signs.
#include "tests/fuzz/reference.h"

namespace fuzz {
namespace {

enum class Zeros : std::uint8_t { open, kept, exact };

/// What is said of a result that is zero: nothing of its sign; what the operation says of its operands'; or that it is
/// exactly zero, with the sign that IEEE 754 gives sums, products and quotients, and C odd functions at zero.
Zeros zeros_of(Op op) {
  switch (op) {
    case Op::where:
    case Op::clip:
    case Op::minimum:
    case Op::maximum:
    case Op::fmin:
    case Op::fmax:
    case Op::neg:
    case Op::abs:
      return Zeros::kept;
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::fma:
    case Op::sqrt:
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::round:
    case Op::fmod:
    case Op::copysign:
    case Op::sin:
    case Op::tanh:
    case Op::atan:
    case Op::asinh:
    case Op::sinh:
    case Op::erf:
    case Op::cbrt:
    case Op::expm1:
    case Op::log1p:
      return Zeros::exact;
    default:
      return Zeros::open;
  }
}

constexpr int arities[] = {
#define KILN_OP(id, arity, domain, result, cuda, llvm, doc) arity,
#include <kiln/ops.def>
#undef KILN_OP
};

}  // namespace

Number with_zeros(Op op, const Number* operands, Number n) {
  const Zeros zeros = zeros_of(op);
  if (zeros == Zeros::kept || n.unknown) return n;
  n.sign = false;
  if (zeros == Zeros::open || n.x != 0) return n;
  if (op == Op::fma && operands[0].x * operands[1].x != 0) return n;  // which is rounded here
  for (int i = 0; i < arities[static_cast<int>(op)]; ++i)
    if (operands[i].error != 0 || (operands[i].x == 0 && !operands[i].sign)) return n;
  n.error = 0;
  n.sign = true;
  return n;
}

}  // namespace fuzz
