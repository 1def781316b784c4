// kiln/detail/axes.h -- how reductions and scans are told what to do: axes, kl::keepdims, kl::ddof, kl::accumulate.
#pragma once

#include <initializer_list>

#include <kiln/detail/bridge.h>

namespace kiln {

template <class C>
class WeakSym;
template <class C>
struct Const;

/// Keeps reduced axes with extent 1: kl::sum(x, 0, kl::keepdims).
struct Keepdims {};
inline constexpr Keepdims keepdims{};

/// Delta degrees of freedom of kl::var and kl::std_: they divide by the number of elements less this.
struct Ddof {
  std::int64_t value;
};
constexpr Ddof ddof(std::int64_t n) { return {n}; }

/// The type in which kl::sum, kl::prod and kl::mean accumulate, and which they return: kl::sum(x,
/// kl::accumulate<float>).
template <class T>
struct Accumulate {};
template <class T>
inline constexpr Accumulate<T> accumulate{};

namespace detail {
[[noreturn]] KILN_API void too_many_axes(std::size_t count, Where where);
[[noreturn]] KILN_API void bad_axis_access(std::int64_t axis, int rank, Where where);
[[noreturn]] KILN_API void axis_beyond_ranks(std::int64_t axis, Where where);
[[noreturn]] KILN_API void axes_given_twice(Where where);

/// An extent, stride or axis of any integer type, so that braces may mix int and size_t.
struct Extent {
  std::int64_t value;
  template <class I>
    requires(std::is_integral_v<I>)
  constexpr Extent(I v) : value(static_cast<std::int64_t>(v)) {}
  template <class F>
    requires(std::is_floating_point_v<F>)
  constexpr Extent(F) : value(0) {
    static_assert(
        no_dtype<F>::value,
        "kiln: an extent, an axis or a displacement is an integer; values are copied by kl::from_host({1.5f})");
  }
  template <class I>
  constexpr Extent(Const<I> v) : Extent(v.value) {}
  template <class C>
  Extent(const WeakSym<C>&) : value(0) {
    static_assert(no_dtype<C>::value,
                  "kiln: an extent, an axis or a displacement is no run-time number of a traced function; capture it, "
                  "or declare the parameter kl::Const<int>");
  }
};

struct Unset {};

/// A trailing argument of a reduction: an axis, a list of axes, kl::keepdims or, where it makes sense, kl::ddof.
template <bool TakesDdof, bool TakesKeepdims>
struct ReductionOption {
  std::uint64_t bits = 0;  ///< as in ReductionCall
  std::int64_t ddof = 0;

  constexpr ReductionOption(Unset) {}
  template <class K>
    requires(std::is_same_v<K, Keepdims>)
  constexpr ReductionOption(K) : bits(ReductionCall::keepdims) {
    static_assert(TakesKeepdims, "kiln: a scan keeps the shape; kl::keepdims applies to reductions");
  }
  template <class D>
    requires(std::is_same_v<D, Ddof>)
  constexpr ReductionOption(D d) : ddof(d.value) {
    static_assert(TakesDdof, "kiln: kl::ddof applies to kl::var and kl::std_ only");
  }
  template <class I>
    requires(std::is_integral_v<I> && !std::is_same_v<I, bool>)
  constexpr ReductionOption(I axis, const char* f = __builtin_FILE(), unsigned l = __builtin_LINE())
      : bits(ReductionCall::named) {
    append(static_cast<std::int64_t>(axis), {f, l});
  }
  template <class I>
  constexpr ReductionOption(Const<I> axis, const char* f = __builtin_FILE(), unsigned l = __builtin_LINE())
      : ReductionOption(axis.value, f, l) {}
  constexpr ReductionOption(std::initializer_list<Extent> axes, const char* f = __builtin_FILE(),
                            unsigned l = __builtin_LINE())
      : bits(ReductionCall::named) {
    for (const Extent axis : axes) append(axis.value, {f, l});
  }
  /// Any contiguous container of integers.
  template <class C>
    requires(
        std::is_class_v<C> &&
        requires(const C& c) {
          c.data()[0] + 1;
          c.size();
        } && !requires { C::dtype; })
  ReductionOption(const C& axes, const char* f = __builtin_FILE(), unsigned l = __builtin_LINE())
      : bits(ReductionCall::named) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(axes.size()); ++i) {
      append(static_cast<std::int64_t>(axes.data()[i]), {f, l});
    }
  }
  template <class C>
  ReductionOption(const WeakSym<C>&) {
    static_assert(no_dtype<C>::value,
                  "kiln: an axis is part of the kernel, not a run-time number; declare the parameter kl::Const<int>");
  }
  template <class X>
    requires(requires { X::dtype; })
  ReductionOption(const X&) {
    static_assert(no_dtype<X>::value,
                  "kiln: an array where an axis is expected; kl::maximum and kl::minimum take two arrays");
  }
  template <class X>
    requires(std::is_array_v<X> || std::is_pointer_v<X>)
  ReductionOption(const X&) {
    static_assert(no_dtype<X>::value, "kiln: an axis is an integer; several stand in braces: kl::sum(x, {0, 1})");
  }
  template <class X>
    requires(std::is_floating_point_v<X>)
  ReductionOption(X) {
    static_assert(no_dtype<X>::value,
                  "kiln: an axis is an integer; the larger of each element and a number is kl::maximum(x, 0.0f), the "
                  "smaller kl::minimum");
  }
  template <class T>
  ReductionOption(Accumulate<T>) {
    static_assert(no_dtype<T>::value, "kiln: kl::accumulate applies to kl::sum, kl::prod and kl::mean only");
  }

 private:
  constexpr void append(std::int64_t axis, Where where) {
    const std::uint64_t count = bits >> ReductionCall::count_shift & 15;
    if (axis < -max_rank || axis >= max_rank) axis_beyond_ranks(axis, where);
    if (count == max_rank) too_many_axes(count + 1, where);
    bits |= (static_cast<std::uint64_t>(axis) & 15) << (4 * count);
    bits += std::uint64_t{1} << ReductionCall::count_shift;
  }
};

using AxisOption = ReductionOption<false, true>;
using VarianceOption = ReductionOption<true, true>;
using ScanAxis = ReductionOption<false, false>;

/// All that a call says, in two words.
template <class... Option>
constexpr ReductionCall reduction_call(Reducing function, Where where, const Option&... options) {
  if (((options.bits & ReductionCall::named ? 1 : 0) + ...) > 1) axes_given_twice(where);
  return {(options.bits | ...) | static_cast<std::uint64_t>(function) << ReductionCall::function_shift,
          static_cast<std::uint64_t>((options.ddof + ...))};
}

}  // namespace detail
}  // namespace kiln
