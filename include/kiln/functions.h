// kiln/functions.h -- the named functions of ops.def, and cast, index, where.
#pragma once

#include <kiln/sym.h>

namespace kiln {

#define KILN_FUNCTION_1(id)                                                            \
  template <class A>                                                                   \
    requires(detail::any_operand<A>)                                                   \
  auto id(A&& a, detail::Where w = detail::Where::current()) {                         \
    return detail::unary<Op::id, std::remove_cvref_t<A>>(w, a, detail::is_movable<A>); \
  }
#define KILN_FUNCTION_2(id)                                                                                       \
  template <class A, class B>                                                                                     \
    requires(detail::any_operand<A, B>)                                                                           \
  auto id(A&& a, B&& b, detail::Where w = detail::Where::current()) {                                             \
    return detail::binary<Op::id, std::remove_cvref_t<A>, std::remove_cvref_t<B>>(w, a, detail::is_movable<A>, b, \
                                                                                  detail::is_movable<B>);         \
  }
#define KILN_FUNCTION_3(id)                                                                                 \
  template <class A, class B, class C>                                                                      \
    requires(detail::any_operand<A, B, C>)                                                                  \
  auto id(A&& a, B&& b, C&& c, detail::Where w = detail::Where::current()) {                                \
    return detail::ternary<Op::id, std::remove_cvref_t<A>, std::remove_cvref_t<B>, std::remove_cvref_t<C>>( \
        w, a, detail::is_movable<A>, b, detail::is_movable<B>, c, detail::is_movable<C>);                   \
  }
// `where` below also takes conditions that are not bool.
#define KILN_OP(id, arity, domain, result, cuda, llvm, doc) KILN_FUNCTION_##result##_##arity(id)
#define KILN_FUNCTION_same_1 KILN_FUNCTION_1
#define KILN_FUNCTION_same_2 KILN_FUNCTION_2
#define KILN_FUNCTION_same_3 KILN_FUNCTION_3
#define KILN_FUNCTION_boolean_1 KILN_FUNCTION_1
#define KILN_FUNCTION_boolean_2 KILN_FUNCTION_2
#define KILN_FUNCTION_floating_1 KILN_FUNCTION_1
#define KILN_FUNCTION_floating_2 KILN_FUNCTION_2
#define KILN_FUNCTION_real_1 KILN_FUNCTION_1
#define KILN_FUNCTION_realfloat_1 KILN_FUNCTION_1
#define KILN_FUNCTION_select_3(id)
#include <kiln/ops.def>
#undef KILN_OP
#undef KILN_FUNCTION_1
#undef KILN_FUNCTION_2
#undef KILN_FUNCTION_3
#undef KILN_FUNCTION_same_1
#undef KILN_FUNCTION_same_2
#undef KILN_FUNCTION_same_3
#undef KILN_FUNCTION_boolean_1
#undef KILN_FUNCTION_boolean_2
#undef KILN_FUNCTION_floating_1
#undef KILN_FUNCTION_floating_2
#undef KILN_FUNCTION_real_1
#undef KILN_FUNCTION_realfloat_1
#undef KILN_FUNCTION_select_3

/// Converts the elements to T with the rules of the conversion table: floats to integers saturate, NaN gives 0.
template <class T, class X>
  requires(detail::any_operand<X>)
auto cast(X&& x, detail::Where w = detail::Where::current()) {
  if constexpr (detail::role_of<X> == detail::Role::traced) {
    return x.template astype<T>(w);
  } else {
    return detail::convert<dtype_of<T>, std::remove_cvref_t<X>>(w, x, detail::is_movable<X>);
  }
}

/// Elements of `a` where the condition holds (is not 0), else of `b`.
template <class C, class A, class B>
  requires(detail::any_operand<C, A, B>)
auto where(C&& condition, A&& a, B&& b, detail::Where w = detail::Where::current()) {
  using Condition = detail::Operand<std::remove_cvref_t<C>>;
  if constexpr (Condition::role == detail::Role::array && Condition::type.type != DType::b1) {
    return where(cast<bool>(static_cast<C&&>(condition), w), static_cast<A&&>(a), static_cast<B&&>(b), w);
  } else {
    return detail::ternary<Op::where, std::remove_cvref_t<C>, std::remove_cvref_t<A>, std::remove_cvref_t<B>>(
        w, condition, detail::is_movable<C>, a, detail::is_movable<A>, b, detail::is_movable<B>);
  }
}

/// The i64 coordinate of each element of `x` along `axis`; negative axes count from the end.
template <class X>
  requires(detail::any_operand<X>)
auto index(const X& x, int axis, detail::Where w = detail::Where::current()) {
  if constexpr (detail::role_of<X> == detail::Role::traced) {
    detail::Recorder& recorder = x.recorder();
    return Sym<std::int64_t>(recorder, detail::record_index(recorder, x.node_as(X::dtype, w), axis, w));
  } else {
    const detail::Handle operand = detail::index_operand(detail::expression_of(x, false).parts(), axis, w);
    return detail::leaf<detail::Iota>(detail::slot_of(operand));
  }
}

}  // namespace kiln
