// kiln/sym.h -- traced values: what the parameters of a kl::jit lambda are while it is recorded.
#pragma once

#include <kiln/expr.h>

namespace kiln {
namespace detail {

/// The axis of shape()[axis], and where it was written.
struct AxisIndex {
  int value;
  Where where;
  template <class I>
    requires(std::is_integral_v<I>)
  AxisIndex(I axis, const char* f = __builtin_FILE(), unsigned l = __builtin_LINE())
      : value(static_cast<int>(axis)), where{f, l} {}
};

}  // namespace detail

class TracedShape;

/// A traced array value with elements of type T: the number of a node in the recorded graph.
template <class T>
class Sym : public detail::Operators<Sym<T>>,
            public detail::ViewOperations<Sym<T>>,
            public detail::CompoundAssignment<Sym<T>> {
 public:
  using value_type = T;
  static constexpr DType dtype = dtype_of<T>;

  Sym(detail::Recorder& recorder, detail::NodeId node) : recorder_(&recorder), node_(node) {}
  Sym(const Sym&) = default;
  /// Declared for a ? a : 1 alone, where the compiler else says nothing of kl::where.
  template <detail::number N>
  [[gnu::error("kiln: a number is no traced value; use 0 * x + number, and kl::where(c, a, number)")]] Sym(N);
  Sym& operator=(const Sym&) & = default;
  /// Elements of a traced value are not written.
  template <class V>
  void operator=(const V&) const&& {
    static_assert(detail::no_dtype<V>::value,
                  "kiln: elements of a traced value are not assigned to; compute the new value: "
                  "kl::where(kl::index(a, 0) == 0, 1, a)");
  }
  template <class V>
    requires(!std::is_same_v<V, Sym>)
  Sym& operator=(const V&) & {
    static_assert(detail::no_dtype<V>::value,
                  "kiln: a variable of a traced value keeps its type; bind a new name to another value");
    return *this;
  }
  template <class V>
  const Sym& operator=(const V&) const& {
    static_assert(detail::no_dtype<V>::value,
                  "kiln: a variable of a traced value keeps its type; bind a new name to another value");
    return *this;
  }
  ~Sym() = default;

  int ndim() const { return detail::rank_of(*recorder_, node_); }
  /// The number of elements and the extents: run-time numbers, which follow from the shapes of the call.
  WeakSym<std::int64_t> size(detail::Where w = detail::Where::current()) const;
  TracedShape shape() const;
  template <class U>
  Sym<U> astype(detail::Where w = detail::Where::current()) const {
    detail::require_convertible<dtype, dtype_of<U>>();
    return {*recorder_, detail::record_cast(*recorder_, node_, dtype_of<U>, w)};
  }
  /// A traced value has no value yet, so it cannot steer C++ control flow.
  template <class B = bool>
  explicit operator B() const {
    static_assert(std::is_same_v<B, bool>,
                  "kiln: a traced value has no value yet; kl::cast<T>(x) converts it in the kernel");
    static_assert(!std::is_same_v<B, bool>,
                  "kiln: a traced value in if, ?: or while has no value yet; use kl::where(condition, a, b), and "
                  "kl::maximum or kl::minimum for std::max and std::min");
    return B{};
  }
  /// Nor can its elements be fetched.
  template <class B = bool>
  auto item() const {
    static_assert(detail::no_dtype<B>::value,
                  "kiln: a traced value has no value yet: .item() is for the result of the compiled function");
    return *this;
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
class WeakSym : public detail::Operators<WeakSym<C>>, public detail::CompoundAssignment<WeakSym<C>> {
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
  template <class V>
  void update(const V& value) {
    static_assert(std::is_same_v<V, WeakSym>,
                  "kiln: the operation changes the type of the traced number; bind a new name to it");
    if constexpr (std::is_same_v<V, WeakSym>) *this = value;
  }
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

/// The shape of a traced value: shape()[0], shape()[-1].
class TracedShape {
 public:
  TracedShape(detail::Recorder& recorder, detail::NodeId node) : recorder_(&recorder), node_(node) {}
  int rank() const { return detail::rank_of(*recorder_, node_); }
  std::size_t size() const { return static_cast<std::size_t>(rank()); }
  /// The extents are not known while the function is traced.
  template <class S>
    requires(std::is_same_v<S, Shape>)
  operator S() const {
    static_assert(detail::no_dtype<S>::value,
                  "kiln: a traced value has no extents yet, so nothing can have its shape; numbers broadcast by "
                  "themselves");
    return S{};
  }
  WeakSym<std::int64_t> operator[](detail::AxisIndex axis) const {
    return {*recorder_, detail::record_extent(*recorder_, node_, axis.value, axis.where)};
  }

 private:
  detail::Recorder* recorder_;
  detail::NodeId node_;
};

template <class T>
WeakSym<std::int64_t> Sym<T>::size(detail::Where w) const {
  return {*recorder_, detail::record_extent(*recorder_, node_, detail::all_axes, w)};
}
template <class T>
TracedShape Sym<T>::shape() const {
  return {*recorder_, node_};
}

namespace detail {

template <class X>
Recorder* recorder_of(const X& x) {
  if constexpr (Operand<X>::role == Role::traced) {
    return &x.recorder();
  } else {
    return nullptr;
  }
}
/// The recorder of several operands.
inline Recorder* common_recorder(Recorder* a, Recorder* b, Where where) {
  if (a && b && a != b) mixed_traces(where);
  return a ? a : b;
}

template <class X>
NodeId node_as(Recorder& recorder, const X& x, DType type, Where w, int op = -1) {
  if constexpr (Operand<X>::role == Role::traced) {
    return x.node_as(type, w);
  } else if constexpr (Operand<X>::role == Role::baked) {
    return record_number(recorder, scalar_argument(x.value), type, w, op);
  } else if constexpr (Operand<X>::role == Role::number) {
    return record_number(recorder, scalar_argument(x), type, w, op);
  } else {
    return 0;  // refused already; nothing more is to be said
  }
}

/// Out of line and small: runs once for each operation of a trace.
template <Op O, class... X>
[[gnu::noinline, gnu::cold]] auto record(Where where, const X&... operands) {
  constexpr bool traced_only = ((Operand<X>::role != Role::array) && ...);
  static_assert(traced_only,
                "kiln: an array inside a traced lambda; pass arrays to the compiled function as arguments");
  constexpr Resolution r = Typed<O, X...>::r;
  Recorder* recorder = nullptr;
  ((recorder = common_recorder(recorder, recorder_of(operands), where)), ...);
  unsigned i = 0;
  const NodeId nodes[] = {node_as(*recorder, operands, r.operands[i++], where, static_cast<int>(O))...};
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
