// kiln/functions.h -- the named functions of ops.def, and cast, index, where.
#pragma once

#include <kiln/sym.h>

namespace kiln {

#define KILN_FUNCTION_1(id)                                               \
  template <class A>                                                      \
    requires(detail::any_operand<A>)                                      \
  auto id(A&& a, detail::Where w = detail::Where::current()) {            \
    return detail::apply<Op::id>(w, detail::as_ref(static_cast<A&&>(a))); \
  }
#define KILN_FUNCTION_2(id)                                                                                    \
  template <class A, class B>                                                                                  \
    requires(detail::any_operand<A, B>)                                                                        \
  auto id(A&& a, B&& b, detail::Where w = detail::Where::current()) {                                          \
    return detail::apply<Op::id>(w, detail::as_ref(static_cast<A&&>(a)), detail::as_ref(static_cast<B&&>(b))); \
  }
#define KILN_FUNCTION_3(id)                                                                                   \
  template <class A, class B, class C>                                                                        \
    requires(detail::any_operand<A, B, C>)                                                                    \
  auto id(A&& a, B&& b, C&& c, detail::Where w = detail::Where::current()) {                                  \
    return detail::apply<Op::id>(w, detail::as_ref(static_cast<A&&>(a)), detail::as_ref(static_cast<B&&>(b)), \
                                 detail::as_ref(static_cast<C&&>(c)));                                        \
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
    return detail::convert<dtype_of<T>>(w, detail::as_ref(static_cast<X&&>(x)));
  }
}

/// Elements of `a` where the condition holds (is not 0), else of `b`.
template <class C, class A, class B>
  requires(detail::any_operand<C, A, B>)
auto where(C&& condition, A&& a, B&& b, detail::Where w = detail::Where::current()) {
  if constexpr (detail::role_of<C> == detail::Role::array) {
    if constexpr (std::remove_cvref_t<C>::kiln_type.type != DType::b1) {
      return detail::apply<Op::where>(w, detail::as_ref(cast<bool>(static_cast<C&&>(condition), w)),
                                      detail::as_ref(static_cast<A&&>(a)), detail::as_ref(static_cast<B&&>(b)));
    } else {
      return detail::apply<Op::where>(w, detail::as_ref(static_cast<C&&>(condition)),
                                      detail::as_ref(static_cast<A&&>(a)), detail::as_ref(static_cast<B&&>(b)));
    }
  } else {
    return detail::apply<Op::where>(w, detail::as_ref(static_cast<C&&>(condition)), detail::as_ref(static_cast<A&&>(a)),
                                    detail::as_ref(static_cast<B&&>(b)));
  }
}

/// The i64 coordinate of each element of `x` along `axis`; negative axes count from the end.
template <class X>
  requires(detail::any_operand<X>)
auto index(const X& x, int axis, detail::Where w = detail::Where::current()) {
  if constexpr (detail::role_of<X> == detail::Role::traced) {
    detail::Recorder& recorder = x.recorder();
    return Sym<std::int64_t>(recorder, detail::record_index(recorder, x.node_as(recorder, X::dtype, w), axis, w));
  } else {
    const detail::Handle operand = detail::index_operand(detail::expression_of(detail::as_ref(x)).parts(), axis, w);
    return Expression<detail::Iota>(detail::Compose{}, w, detail::Ref<detail::Handle>{operand, true});
  }
}

}  // namespace kiln
