// tests/fuzz/generate_complex.cpp -- random operations on complex numbers, and steps to and from real ones.
#include "tests/fuzz/generator.h"

namespace fuzz {
namespace {

const std::vector<Op> unary = {Op::neg,  Op::conj,  Op::real,  Op::imag,  Op::abs,      Op::arg,  Op::exp,
                               Op::sqrt, Op::log,   Op::sin,   Op::cos,   Op::tanh,     Op::sinh, Op::atan,
                               Op::asin, Op::log1p, Op::expm1, Op::isnan, Op::isfinite, Op::isinf};
const std::vector<Op> binary_operations = {Op::add, Op::sub, Op::mul, Op::mul, Op::div, Op::eq, Op::ne};
const std::vector<Function> functions = {Function::sum, Function::sum,          Function::prod, Function::mean,
                                         Function::var, Function::std_,         Function::norm, Function::any,
                                         Function::all, Function::count_nonzero};

}  // namespace

bool gives_parts(Op op) { return op == Op::real || op == Op::imag || op == Op::abs || op == Op::arg; }

void Generator::complex_elementwise(int a) {
  if (random_.chance(50)) return binary(a, random_.pick(binary_operations));
  const Op op = random_.pick(unary);
  const DType type = node(a).type;
  const bool truth = op == Op::isnan || op == Op::isfinite || op == Op::isinf;
  add({.kind = NodeKind::operation,
       .type = truth             ? DType::b1
               : gives_parts(op) ? kiln::real_of(type)
                                 : type,
       .shape = node(a).shape,
       .inputs = {a},
       .op = op});
}

/// Complex numbers become real ones by their real parts.
int Generator::real_part(int a) {
  return add({.kind = NodeKind::operation,
              .type = kiln::real_of(node(a).type),
              .shape = node(a).shape,
              .inputs = {a},
              .op = Op::real});
}

Function Generator::complex_reduction() { return random_.pick(functions); }

}  // namespace fuzz
