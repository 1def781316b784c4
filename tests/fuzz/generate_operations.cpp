// tests/fuzz/generate_operations.cpp -- random elementwise operations on real numbers, integers and truth values.
#include "tests/fuzz/generator.h"

namespace fuzz {
namespace {

const std::vector<Op> float_unary = {Op::neg,     Op::abs,      Op::sqrt,  Op::exp,     Op::log1p, Op::tanh,
                                     Op::sigmoid, Op::sin,      Op::cos,   Op::floor,   Op::relu,  Op::silu,
                                     Op::isnan,   Op::isfinite, Op::trunc, Op::softplus};
const std::vector<Op> rarer_float_unary = {Op::rsqrt, Op::cbrt, Op::exp2,  Op::expm1, Op::log,  Op::log2,
                                           Op::log10, Op::atan, Op::asinh, Op::sinh,  Op::cosh, Op::erf,
                                           Op::erfc,  Op::ceil, Op::round, Op::sign,  Op::isinf};
const std::vector<Op> float_binary = {Op::add,     Op::sub,  Op::mul,  Op::add, Op::sub, Op::mul, Op::div, Op::minimum,
                                      Op::maximum, Op::fmin, Op::fmax, Op::lt,  Op::ge,  Op::eq,  Op::ne};
const std::vector<Op> rarer_float_binary = {Op::pow,          Op::atan2,    Op::hypot, Op::fmod, Op::remainder,
                                            Op::floor_divide, Op::copysign, Op::gt,    Op::le};
const std::vector<Op> integer_unary = {Op::neg, Op::abs, Op::bit_not, Op::sign};
const std::vector<Op> integer_binary = {
    Op::add,         Op::sub, Op::mul, Op::div, Op::mod, Op::bit_and,      Op::bit_or,    Op::bit_xor, Op::minimum,
    Op::maximum,     Op::shl, Op::shr, Op::lt,  Op::eq,  Op::floor_divide, Op::remainder, Op::pow,     Op::fmod,
    Op::true_divide, Op::gt,  Op::le,  Op::ge,  Op::ne};
const std::vector<Op> boolean_binary = {Op::logical_and, Op::logical_or, Op::bit_xor, Op::eq};

bool is_comparison(Op op) {
  return op == Op::lt || op == Op::le || op == Op::gt || op == Op::ge || op == Op::eq || op == Op::ne ||
         op == Op::isnan || op == Op::isinf || op == Op::isfinite || op == Op::logical_and || op == Op::logical_or ||
         op == Op::logical_not;
}

}  // namespace

void Generator::binary(int a, Op op) {
  const DType type = node(a).type;
  int b = pick_node();
  Shape shape = node(a).shape;
  if (random_.chance(12) || !broadcast(shape, node(b).shape) || count(shape) > most_elements()) {
    b = number(type == DType::b1 ? DType::i32 : type);
    shape = node(a).shape;
  }
  b = as_type(b, type);
  // A bound negative exponent of integers is refused; numbers() are none, arrays may have any.
  const bool swapped = random_.chance(30);
  const bool is_quotient = op == Op::true_divide && !kiln::is_floating(type);
  add({.kind = NodeKind::operation,
       .type = is_comparison(op) ? DType::b1
               : is_quotient     ? DType::f64
                                 : type,
       .shape = shape,
       .inputs = swapped ? std::vector<int>{b, a} : std::vector<int>{a, b},
       .op = op});
}

/// clip(a, low, high) or fma(a, b, c).
void Generator::ternary(int a) {
  const DType type = node(a).type;
  Shape shape = node(a).shape;
  std::vector<int> inputs = {a};
  for (int k = 0; k < 2; ++k) {
    int other = pick_node();
    Shape joined = shape;
    if (random_.chance(40) || !broadcast(joined, node(other).shape) || count(joined) > most_elements()) {
      other = number(type);
    } else {
      shape = joined;
      other = as_type(other, type);
    }
    inputs.push_back(other);
  }
  add({.kind = NodeKind::operation,
       .type = type,
       .shape = shape,
       .inputs = inputs,
       .op = random_.chance(50) ? Op::clip : Op::fma});
}

/// where(condition, a, b).
void Generator::choose() {
  const int a = pick_node(), c = pick_node(), b = pick_node();
  Shape shape = node(a).shape;
  if (!broadcast(shape, node(b).shape) || !broadcast(shape, node(c).shape) || count(shape) > most_elements()) return;
  const int condition = as_type(c, DType::b1);
  const int other = as_type(b, node(a).type);
  add({.kind = NodeKind::operation,
       .type = node(a).type,
       .shape = shape,
       .inputs = {condition, a, other},
       .op = Op::where});
}

void Generator::elementwise() {
  const int a = pick_node();
  const DType type = node(a).type;
  if (random_.chance(10)) return choose();
  if (kiln::is_complex(type)) return complex_elementwise(a);
  const bool unary = random_.chance(40);
  if (type == DType::b1) {
    if (unary)
      add({.kind = NodeKind::operation, .type = type, .shape = node(a).shape, .inputs = {a}, .op = Op::logical_not});
    else
      binary(a, random_.pick(boolean_binary));
    return;
  }
  if (random_.chance(8)) return ternary(a);
  const bool rarer = random_.chance(25);
  if (!unary) {
    const std::vector<Op>& of_floats = rarer ? rarer_float_binary : float_binary;
    return binary(a, random_.pick(kiln::is_floating(type) ? of_floats : integer_binary));
  }
  const std::vector<Op>& of_floats = rarer ? rarer_float_unary : float_unary;
  const Op op = random_.pick(kiln::is_floating(type) ? of_floats : integer_unary);
  add({.kind = NodeKind::operation,
       .type = is_comparison(op) ? DType::b1 : type,
       .shape = node(a).shape,
       .inputs = {a},
       .op = op});
}

}  // namespace fuzz
