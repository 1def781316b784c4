// kiln/detail/stretches.h -- joins many stretches of an axis by any associative function, through a tree over the axis.
//
// Level k of the tree holds the joins of 2^k neighbours. A stretch takes at most two elements of each level, from its
// ends inwards, so that n elements and s stretches cost n + 2 s log2(n) joins in log2(n) steps, whatever overlaps, and
// the elements of a stretch keep their order.
#pragma once

#include <kiln/jit.h>
#include <kiln/reductions.h>
#include <kiln/scatter.h>
#include <kiln/shift.h>

namespace kiln::detail {

/// f16 and bf16 are joined in f32 and rounded once.
template <class T>
using JoinedIn =
    typename ElementOf<(dtype_of<T> == DType::f16 || dtype_of<T> == DType::bf16) ? DType::f32 : dtype_of<T>>::type;

template <class F>
struct JoinNeighbours {
  [[no_unique_address]] F function;
  template <class T>
  Sym<T> operator()(const Sym<T>& a, const Sym<T>& b) const {
    return function(a, b);
  }
};

/// Results of a step; a tuple without the standard library's.
template <class... S>
struct StretchState;
template <class A, class B, class C, class D, class E, class G>
struct StretchState<A, B, C, D, E, G> {
  A first;
  B end;
  C left;
  D has_left;
  E right;
  G has_right;
};
template <std::size_t I, class... S>
const auto& get(const StretchState<S...>& s) {
  if constexpr (I == 0) {
    return s.first;
  } else if constexpr (I == 1) {
    return s.end;
  } else if constexpr (I == 2) {
    return s.left;
  } else if constexpr (I == 3) {
    return s.has_left;
  } else if constexpr (I == 4) {
    return s.right;
  } else {
    return s.has_right;
  }
}

/// One level: `first` and `end` are places of it; what lies before and behind them is joined in `left` and `right`.
template <class F>
struct StretchStep {
  [[no_unique_address]] F function;
  template <class T, class I, class B>
  auto operator()(const Sym<T>& level, const Sym<I>& first, const Sym<I>& end, const Sym<T>& left,
                  const Sym<B>& has_left, const Sym<T>& right, const Sym<B>& has_right) const {
    const Sym<B> open = first < end, from_left = open && first % 2 == 1, from_right = open && end % 2 == 1;
    const Sym<T> next = kiln::take(level, first, -1), last = kiln::take(level, end - 1, -1);
    const Sym<T> longer_left = function(left, next), longer_right = function(last, right);
    const Sym<I> first_above = (first + kiln::cast<I>(from_left)) / 2,
                 end_above = (end - kiln::cast<I>(from_right)) / 2;
    const Sym<T> joined_left = kiln::where(from_left, kiln::where(has_left, longer_left, next), left);
    const Sym<T> joined_right = kiln::where(from_right, kiln::where(has_right, longer_right, last), right);
    return StretchState<Sym<I>, Sym<I>, Sym<T>, Sym<B>, Sym<T>, Sym<B>>{
        first_above, end_above, joined_left, has_left || from_left, joined_right, has_right || from_right};
  }
};

template <class F>
struct JoinSides {
  [[no_unique_address]] F function;
  template <class T, class B>
  auto operator()(const Sym<T>& left, const Sym<B>& has_left, const Sym<T>& right, const Sym<B>& has_right) const {
    const Sym<T> both = function(left, right);
    return kiln::where(has_left, kiln::where(has_right, both, left), right);
  }
};

template <class F>
struct JoinTarget {
  [[no_unique_address]] F function;
  template <class T, class C, class I>
  auto operator()(const Sym<T>& target, const Sym<C>& joined, const Sym<I>& counts) const {
    const Sym<C> both = function(kiln::cast<C>(target), joined);
    return kiln::where(counts > 0, kiln::cast<T>(both), target);
  }
};

/// What a level is made of: the elements 0, 2, ... of the last axis of the one below, and those behind them (behind the
/// last one of an odd number itself, which no stretch asks for).
template <class T>
Sym<T> every_second(const Sym<T>& level, bool behind, Where w) {
  const int rank = level.ndim();
  std::int64_t by[max_rank] = {}, items[4 * max_rank] = {};
  for (int axis = 0; axis < rank; ++axis) items[4 * axis + 3] = axis == rank - 1 ? 2 : 1;
  by[rank - 1] = -1;
  const Sym<T> from = behind ? kiln::shift(level, Shape(by, rank), kiln::clamp, w) : level;
  return from.viewed(ViewKind::slice, items, static_cast<unsigned>(4 * rank), w);
}

/// The stretches of a traced value. A trace does not know how long its axes are: it records as many levels as any axis
/// has, and the upper ones of shorter axes hold one element.
template <class F, class T, class S>
Sym<T> record_stretches(const F& function, const Sym<T>& x, const Sym<S>& starts, Where w) {
  constexpr int levels = 42;
  if (x.ndim() == 0) no_axis_to_stretch(w);
  if (starts.ndim() != 1) check_vector("the starts of reduceat", nullptr, starts.ndim(), w);
  const auto n = x.shape()[-1];
  const Sym<std::int64_t> begin = kiln::cast<std::int64_t>(starts, w);
  const Sym<std::int64_t> next = kiln::shift(begin, -1, constant(std::int64_t{1} << 62), w);
  const Sym<bool> exists = begin >= 0 && begin < n, never = begin != begin;
  const Sym<std::int64_t> first = kiln::where(exists, begin, 0);
  const Sym<std::int64_t> end = kiln::where(exists, kiln::where(next > begin, kiln::minimum(next, n), begin + 1), 0);
  const StretchStep<F> step{function};
  Sym<JoinedIn<T>> level = kiln::cast<JoinedIn<T>>(x, w);
  const Sym<JoinedIn<T>> none = kiln::take(level, first, -1, OutOfRange::missing, w);
  auto state = step(level, first, end, none, never, none, never);
  for (int k = 1; k <= levels; ++k) {
    level = function(every_second(level, false, w), every_second(level, true, w));
    state = step(level, state.first, state.end, state.left, state.has_left, state.right, state.has_right);
  }
  const Sym<JoinedIn<T>> joined = JoinSides<F>{function}(state.left, state.has_left, state.right, state.has_right);
  return kiln::cast<T>(kiln::where(exists, joined, 0, w), w);
}

/// The compiled functions of a ufunc's stretches.
template <class F>
struct StretchFunctions {
  constexpr explicit StretchFunctions(const F& function)
      : step(StretchStep<F>{function}),
        neighbours(JoinNeighbours<F>{function}),
        sides(JoinSides<F>{function}),
        target(JoinTarget<F>{function}) {}
  Jit<StretchStep<F>> step;
  Jit<JoinNeighbours<F>> neighbours;
  Jit<JoinSides<F>> sides;
  Jit<JoinTarget<F>> target;
};

/// {rows, s} from `level` {rows, n}: the elements [first[i], end[i]) of each row; 0 where there are none.
template <class T, class F>
Array<T> join_stretches(const StretchFunctions<F>& f, const View<const T>& values, Array<std::int64_t> first,
                        Array<std::int64_t> end, Where w) {
  const std::int64_t rows = values.shape()[0], count = first.size();
  Array<T> left = zeros<T>({rows, count}, w), right = zeros<T>({rows, count}, w);
  Array<bool> has_left = zeros<bool>({count}, w), has_right = zeros<bool>({count}, w);
  const auto take_ends = [&](const auto& level) {
    f.step.into(first, end, left, has_left, right, has_right)
        .at(w, level, first, end, left, has_left, right, has_right);
  };
  const auto halved = [&](const auto& level, std::int64_t n) {
    const std::int64_t pairs = n / 2 * 2;
    return f.neighbours.run_at(w, nullptr, level(all, range(0, pairs, 2)), level(all, range(1, pairs, 2)));
  };
  std::int64_t n = values.shape()[1];
  if (n > 0) take_ends(values);
  Array<T> level;
  if (n > 1) level = halved(values, n);
  for (n /= 2; n > 0; n /= 2) {
    take_ends(level);
    if (n > 1) level = halved(level, n);
  }
  return f.sides.run_at(w, nullptr, left, has_left, right, has_right);
}

/// `n` behind indices that name no element of [0, n).
template <class S>
Array<std::int32_t> keys_of(const S& indices, std::int64_t n, Where w) {
  if constexpr (is_signed_integer(Operand<S>::type.type)) {
    const auto wide = cast<std::int64_t>(indices, w);
    return {cast<std::int32_t>(where(wide >= 0 && wide < n, wide, n, w), w), w};
  } else {
    const auto wide = cast<std::uint64_t>(indices, w);
    return {cast<std::int32_t>(minimum(wide, static_cast<std::uint64_t>(n), w), w), w};
  }
}

template <class T, class F, class X, class S>
Array<T> reduce_stretches(const StretchFunctions<F>& f, const X& x, const S& starts, Where w) {
  using C = JoinedIn<T>;
  const Array<C> values(cast<C>(x, w), w);
  const Shape shape = values.shape();
  if (shape.empty()) no_axis_to_stretch(w);
  const std::int64_t n = shape[shape.size() - 1], rows = n == 0 ? 0 : values.size() / n;
  const Array<std::int64_t> given(cast<std::int64_t>(starts, w), w);
  check_vector("the starts of reduceat", given.shape().data(), given.ndim(), w);
  const auto begin = expression_of(given, false);  // whose operators take the place of kl::where
  const auto next = let(kiln::shift(given, -1, constant(n), w));
  const auto exists = let(begin >= 0 && begin < n);
  const Array<std::int64_t> first(where(exists, begin, 0, w), w);
  const Array<std::int64_t> end(where(exists, where(next > begin, minimum(next, n, w), begin + 1, w), 0, w), w);
  const Array<C> joined = join_stretches<C>(f, values.reshape({rows, n}), first, end, w);
  std::int64_t extents[max_rank];
  for (std::size_t axis = 0; axis < shape.size(); ++axis) extents[axis] = shape[axis];
  extents[shape.size() - 1] = given.size();
  return {cast<T>(joined.reshape(Shape(extents, shape.rank())), w), w};
}

/// The values of each element side by side, in their order.
template <class T, class F, class X, class S, class V>
void join_at(const StretchFunctions<F>& f, X& target, const S& indices, const V& values, Where w) {
  using C = JoinedIn<T>;
  const std::int64_t n = target.size();
  const Shape shape = target.shape();
  check_vector("the target of at", shape.data(), shape.rank(), w);
  const Array<std::int32_t> keys = keys_of(indices, n, w);
  if (keys.size() == 0 || n == 0) return;
  const Array<std::uint32_t> order(order_by_key(keys.handle(), n, w));
  // One value per index; fewer are repeated as operands of expressions are.
  Array<C> given(keys.shape(), w);
  if constexpr (role_of<V> == Role::number) {
    given.update(value_of<dtype_of<C>, V>(values, false), w);
  } else {
    given.update(expression_of(cast<C>(values, w).broadcast_to(keys.shape(), w), false), w);
  }
  const Array<std::int64_t> counts = bincount(keys, n, w);
  const Array<std::int64_t> end(cumsum(counts, 0, w), w);
  const Array<std::int64_t> first(expression_of(end, false) - counts, w);
  const Array<C> side_by_side(take(given.reshape({keys.size()}), order, 0, OutOfRange::missing, w), w);
  const Array<C> joined = join_stretches<C>(f, side_by_side.reshape({1, keys.size()}), first, end, w);
  f.target.into(target).at(w, target, joined(0, all), counts);
}

}  // namespace kiln::detail
