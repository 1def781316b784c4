// kiln/sym.h -- traced values: what the parameters of a kl::jit lambda are while it is recorded.
#pragma once

#include <kiln/expr.h>

namespace kiln {
/// A traced array value with elements of type T: the number of a node in the recorded graph.
template <class T>
class Sym : public detail::Operators<Sym<T>>,
            public detail::ViewOperations<Sym<T>>,
            public detail::CompoundAssignment<Sym<T>> {
 public:
  using value_type = T;
  static constexpr DType dtype = dtype_of<T>;

  Sym(detail::Recorder& recorder, detail::NodeId node) : recorder_(&recorder), node_(node) {}

  int ndim() const { return detail::rank_of(*recorder_, node_); }
  template <class U>
  Sym<U> astype(detail::Where w = detail::Where::current()) const {
    detail::require_convertible<dtype, dtype_of<U>>();
    return {*recorder_, detail::record_cast(*recorder_, node_, dtype_of<U>, w)};
  }
  /// A traced value has no value yet, so it cannot steer C++ control flow.
  template <class B = bool>
  explicit operator B() const {
    static_assert(detail::no_dtype<B>::value,
                  "kiln: a traced value in if, ?: or while has no value yet; use kl::where(condition, a, b)");
    return B{};
  }

  // For the library's templates.
  detail::Recorder& recorder() const { return *recorder_; }
  detail::NodeId node_as(DType type, detail::Where w) const {
    return type == dtype ? node_ : detail::record_cast(*recorder_, node_, type, w);
  }
  template <class V>
  void update(const V& value) {
    static_assert(std::is_same_v<V, Sym>,
                  "kiln: the operation changes the type of the traced value; bind a new name to it");
    if constexpr (std::is_same_v<V, Sym>) *this = value;
  }
  Sym viewed(detail::ViewKind kind, const std::int64_t* numbers, unsigned count, detail::Where w) const {
    return {*recorder_, detail::record_view(*recorder_, node_, static_cast<int>(kind), numbers, count, w)};
  }

 private:
  detail::Recorder* recorder_;
  detail::NodeId node_;
};

/// A traced number of C++ type C: a run-time parameter that takes the type of the arrays it meets.
template <class C>
class WeakSym : public detail::Operators<WeakSym<C>> {
 public:
  using value_type = C;
  static constexpr DType dtype = dtype_of<C>;

  /// Scalar argument `slot` of the call.
  static WeakSym argument(detail::Recorder& recorder, unsigned slot) { return {recorder, slot, true}; }
  WeakSym(detail::Recorder& recorder, detail::NodeId node) : WeakSym(recorder, node, false) {}

  int ndim() const { return 0; }
  template <class U>
  Sym<U> astype(detail::Where w = detail::Where::current()) const {
    return {*recorder_, detail::record_cast(*recorder_, node_as(dtype, w), dtype_of<U>, w)};
  }
  template <class B = bool>
  explicit operator B() const {
    static_assert(
        detail::no_dtype<B>::value,
        "kiln: a traced value in if, ?: or while has no value yet; use kl::where(condition, a, b), or declare "
        "the parameter kl::Const<T>");
    return B{};
  }

  detail::Recorder& recorder() const { return *recorder_; }
  detail::NodeId node_as(DType type, detail::Where w) const {
    if (is_slot_) return detail::record_parameter(*recorder_, id_, type);
    return type == dtype ? id_ : detail::record_cast(*recorder_, id_, type, w);
  }

 private:
  WeakSym(detail::Recorder& recorder, unsigned id, bool is_slot) : recorder_(&recorder), id_(id), is_slot_(is_slot) {}
  detail::Recorder* recorder_;
  unsigned id_;
  bool is_slot_;
};

namespace detail {

template <class X>
Recorder* recorder_of(const X& x) {
  if constexpr (Operand<X>::role == Role::traced) {
    return &x.recorder();
  } else {
    return nullptr;
  }
}

template <class X>
NodeId node_as(Recorder& recorder, const X& x, DType type, Where w) {
  if constexpr (Operand<X>::role == Role::traced) {
    return x.node_as(type, w);
  } else if constexpr (Operand<X>::role == Role::baked) {
    return record_number(recorder, scalar_argument(x.value), type, w);
  } else if constexpr (Operand<X>::role == Role::array) {
    return 0;  // record refuses it; nothing more is to be said
  } else {
    return record_number(recorder, scalar_argument(x), type, w);
  }
}

/// Out of line and small: runs once for each operation of a trace.
template <Op O, class... X>
[[gnu::noinline, gnu::cold]] auto record(Where where, const X&... operands) {
  constexpr bool traced_only = ((Operand<X>::role != Role::array) && ...);
  static_assert(traced_only,
                "kiln: an array inside a kl::jit lambda; pass arrays to the compiled function as arguments");
  constexpr Resolution r = Typed<O, X...>::r;
  Recorder* recorder = nullptr;
  ((recorder = recorder ? recorder : recorder_of(operands)), ...);
  unsigned i = 0;
  const NodeId nodes[] = {node_as(*recorder, operands, r.operands[i++], where)...};
  const NodeId node = record_operation(*recorder, O, r.result, nodes, sizeof...(X), where);
  using Element = typename ElementOf<r.result>::type;
  return std::conditional_t<r.weak, WeakSym<Element>, Sym<Element>>(*recorder, node);
}

}  // namespace detail

/// In a traced function a C++ variable is already shared; let is the identity.
template <class X>
  requires(detail::role_of<X> == detail::Role::traced)
auto let(const X& x) {
  return x;
}

}  // namespace kiln
