// kiln/detail/rules.h -- types of results at compile time: promotion, weak scalars and the domains of ops.def.
#pragma once

#include <kiln/dtype.h>
#include <kiln/op.h>

namespace kiln::detail {

/// One row of ops.def as types need it. Domain bits are 1 << Kind.
struct TypeRow {
  std::uint8_t arity;
  std::uint8_t domain;
  ResultRule result;
};

constexpr std::uint8_t domain_bits(const char* letters) {
  std::uint8_t bits = 0;
  for (; *letters; ++letters) {
    bits |= static_cast<std::uint8_t>(*letters == 'B' ? 1 : *letters == 'I' ? 2 : *letters == 'F' ? 4 : 8);
  }
  return bits;
}

inline constexpr TypeRow type_rows[op_count] = {
#define KILN_OP(id, arity, domain, result, cuda, llvm, doc) {arity, domain_bits(domain), ResultRule::result},
#include <kiln/ops.def>
#undef KILN_OP
};

constexpr bool is_comparison(Op op) { return op >= Op::eq && op <= Op::ge; }

/// What an operand is to the type rules. Weak operands are C++ numbers: only their kind counts beside an array.
struct OperandType {
  DType type = DType::f32;
  bool weak = false;
  constexpr bool operator==(const OperandType&) const = default;
};

/// The type that an array of type `t` has beside a weak scalar of `kind`; the scalar adopts it.
constexpr DType adopt(DType t, Kind kind) {
  if (kind_of(t) >= kind) return t;
  if (kind == Kind::integer) return DType::i64;
  if (kind == Kind::floating) return DType::f64;
  return is_floating(t) ? complex_of(t) : DType::c128;
}

/// Type of arithmetic between two C++ numbers: C++'s own rules, without its promotion of float to double by integers.
constexpr DType common_number(DType a, DType b) {
  if (is_complex(a) || is_complex(b)) {
    if (is_integer(a) || a == DType::b1) return b;
    if (is_integer(b) || b == DType::b1) return a;
    return promote(a, b);
  }
  if (is_floating(a) != is_floating(b)) return is_floating(a) ? a : b;
  if (is_floating(a)) return promote(a, b);
  const DType t = promote(a, b);
  return is_integer(t) && size_of(t) >= 4 ? t : is_integer(t) || t == DType::b1 ? DType::i32 : t;
}

enum class Fault : std::uint8_t { none, mod, shift, bits, order, bool_minus, complex_operand, floating_operand, kind };

/// Types of one operation: what each operand is recorded as (weak operands adopt it), and the result.
struct Resolution {
  DType operands[3] = {};
  DType result = DType::f32;
  bool weak = false;  ///< every operand is weak, so the result is
  Fault fault = Fault::none;
  constexpr bool operator==(const Resolution&) const = default;
};

constexpr Fault error_for(Op op, DType common) {
  switch (op) {
    case Op::mod:
      return Fault::mod;
    case Op::shl:
    case Op::shr:
      return Fault::shift;
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
    case Op::bit_not:
      return Fault::bits;
    default:
      break;
  }
  if (is_complex(common)) {
    const bool ordered = is_comparison(op) || (op >= Op::minimum && op <= Op::clip);
    return ordered ? Fault::order : Fault::complex_operand;
  }
  if (common == DType::b1 && (op == Op::sub || op == Op::neg)) return Fault::bool_minus;
  return is_floating(common) ? Fault::floating_operand : Fault::kind;
}

constexpr DType result_of(ResultRule rule, DType operand) {
  switch (rule) {
    case ResultRule::boolean:
      return DType::b1;
    case ResultRule::real:
    case ResultRule::realfloat:
      return real_of(operand);
    default:
      return operand;
  }
}

/// The common type of the values of an operation before its result rule.
constexpr DType common_type(const OperandType* values, unsigned count, bool& all_weak) {
  bool found = false;
  DType common = DType::b1;
  for (unsigned i = 0; i < count; ++i) {
    if (values[i].weak) continue;
    common = found ? promote(common, values[i].type) : values[i].type;
    found = true;
  }
  all_weak = !found;
  for (unsigned i = 0; i < count; ++i) {
    if (!values[i].weak) continue;
    if (all_weak) {
      common = i ? common_number(common, values[i].type) : values[i].type;
    } else {
      common = adopt(common, kind_of(values[i].type));
    }
  }
  return common;
}

/// Applies the row of `op` to operand types. `where` takes its condition first; anything not bool there means `!= 0`.
constexpr Resolution resolve(Op op, const OperandType* operands, unsigned count) {
  const TypeRow row = type_rows[static_cast<int>(op)];
  Resolution r;
  const unsigned first = row.result == ResultRule::select ? 1 : 0;
  const DType common = common_type(operands + first, count - first, r.weak);
  if (first) {
    r.operands[0] = DType::b1;
    r.weak = r.weak && operands[0].weak;
  }
  bool exact_integers = is_comparison(op);  // integers compare with integers by value, whatever their types
  for (unsigned i = 0; i < count; ++i) exact_integers = exact_integers && is_integer(operands[i].type);
  const bool floats = row.result == ResultRule::floating || row.result == ResultRule::realfloat;
  const DType computed = floats && kind_of(common) < Kind::floating ? DType::f64 : common;
  for (unsigned i = first; i < count; ++i) {
    const bool own = exact_integers || !operands[i].weak;
    r.operands[i] = own ? operands[i].type : common;
  }
  r.result = result_of(row.result, computed);
  if (!exact_integers && !(row.domain & (1u << static_cast<int>(kind_of(common))))) r.fault = error_for(op, common);
  return r;
}

/// Refuses ill-typed operations with the rule in words. `O` and the operand types stand in the compiler's context
/// lines.
template <Fault E>
constexpr bool require_well_typed() {
  static_assert(E != Fault::mod, "kiln: % needs integer operands; use kl::fmod or kl::remainder for floats");
  static_assert(E != Fault::shift, "kiln: << and >> need integer operands");
  static_assert(E != Fault::bits, "kiln: & | ^ ~ need bool or integer operands");
  static_assert(E != Fault::order, "kiln: complex numbers have no order; compare kl::abs or kl::real of them");
  static_assert(E != Fault::bool_minus, "kiln: - is not defined for bool; use ^ or !, or cast to a number");
  static_assert(E != Fault::complex_operand, "kiln: this operation is not defined for complex operands");
  static_assert(E != Fault::floating_operand, "kiln: this operation is not defined for floating operands");
  static_assert(E != Fault::kind, "kiln: this operation is not defined for operands of this kind; cast them first");
  return true;
}

}  // namespace kiln::detail
