// kiln/detail/reduction_rules.h -- types of reductions and scans at compile time, and what they refuse.
#pragma once

#include <kiln/detail/bridge.h>

namespace kiln::detail {

enum class ReductionFault : std::uint8_t { none, order, exponential, accumulator, mean_accumulator };

struct ReductionType {
  DType result = DType::f32;
  ReductionFault fault = ReductionFault::none;
  constexpr bool operator==(const ReductionType&) const = default;
};

/// Sums and products of integers do not wrap in the operand's type.
constexpr DType sum_type(DType t) {
  if (t == DType::b1 || is_signed_integer(t)) return DType::i64;
  return is_unsigned_integer(t) ? DType::u64 : t;
}
constexpr DType floating_type(DType t) { return is_integer(t) || t == DType::b1 ? DType::f64 : t; }

constexpr ReductionType reduction_type(Reducing function, DType t) {
  switch (function) {
    case Reducing::sum:
    case Reducing::prod:
    case Reducing::cumsum:
    case Reducing::cumprod:
      return {sum_type(t)};
    case Reducing::mean:
      return {floating_type(t)};
    case Reducing::var:
    case Reducing::std_:
    case Reducing::norm:
      return {real_of(floating_type(t))};
    case Reducing::logsumexp:
      return {floating_type(t), is_complex(t) ? ReductionFault::exponential : ReductionFault::none};
    case Reducing::any:
    case Reducing::all:
      return {DType::b1};
    case Reducing::count_nonzero:
      return {DType::i64};
    case Reducing::argmax:
    case Reducing::argmin:
      return {DType::i64, is_complex(t) ? ReductionFault::order : ReductionFault::none};
    case Reducing::max:
    case Reducing::min:
    case Reducing::cummax:
    case Reducing::cummin:
      return {t, is_complex(t) ? ReductionFault::order : ReductionFault::none};
    case Reducing::reduce:
    case Reducing::scan:
      return {t};
  }
  return {t};
}

/// With kl::accumulate of `to`.
constexpr ReductionType accumulating_type(Reducing function, DType to) {
  if (to == DType::b1) return {to, ReductionFault::accumulator};
  if (function == Reducing::mean && is_integer(to)) return {to, ReductionFault::mean_accumulator};
  return {to};
}

template <ReductionFault E>
constexpr bool require_reducible() {
  static_assert(E != ReductionFault::order, "kiln: complex numbers have no order; reduce kl::abs or kl::real of them");
  static_assert(E != ReductionFault::exponential, "kiln: kl::logsumexp is not defined for complex elements");
  static_assert(E != ReductionFault::accumulator, "kiln: kl::accumulate takes a type of numbers, not bool");
  static_assert(E != ReductionFault::mean_accumulator, "kiln: kl::mean accumulates in a floating or complex type");
  return true;
}

}  // namespace kiln::detail
