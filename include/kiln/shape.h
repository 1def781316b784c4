// kiln/shape.h -- shapes and slices: small values that say which elements are meant.
#pragma once

#include <kiln/detail/axes.h>

namespace kiln {

namespace detail {
/// The axis of shape()[axis], and where it was written.
struct ShapeAxis {
  std::int64_t value;
  Where where;
  template <class I>
    requires(std::is_integral_v<I>)
  constexpr ShapeAxis(I axis, const char* f = __builtin_FILE(), unsigned l = __builtin_LINE())
      : value(static_cast<std::int64_t>(axis)), where{f, l} {}
};
}  // namespace detail

/// Up to 8 extents, strides or axes. Converts from braces, from any contiguous container of integers and, with one
/// element, from an integer.
class Shape {
 public:
  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<detail::Extent> values, detail::Where w = detail::Where::current()) {
    for (const detail::Extent e : values) append(e.value, w);
  }
  template <class I>
    requires(std::is_integral_v<I> && !std::is_same_v<I, bool>)
  constexpr Shape(I extent) : rank_(1), values_{static_cast<std::int64_t>(extent)} {}
  template <class C>
    requires(
        std::is_class_v<C> &&
        requires(const C& c) {
          requires std::is_integral_v<std::remove_cvref_t<decltype(c.data()[0])>>;
          c.size();
        } && !requires { C::dtype; })
  Shape(const C& values, detail::Where w = detail::Where::current()) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(values.size()); ++i) {
      append(static_cast<std::int64_t>(values.data()[i]), w);
    }
  }
  constexpr Shape(const std::int64_t* values, int rank) {
    for (int i = 0; i < rank; ++i) append(values[i], {});
  }

  constexpr std::size_t size() const { return static_cast<std::size_t>(rank_); }
  constexpr bool empty() const { return rank_ == 0; }
  constexpr int rank() const { return rank_; }
  constexpr const std::int64_t* data() const { return values_; }
  constexpr const std::int64_t* begin() const { return values_; }
  constexpr const std::int64_t* end() const { return values_ + rank_; }
  /// Negative axes count from the end.
  constexpr std::int64_t operator[](detail::ShapeAxis axis) const {
    const std::int64_t i = axis.value < 0 ? axis.value + rank_ : axis.value;
    if (i < 0 || i >= rank_) detail::bad_axis_access(axis.value, rank_, axis.where);
    return values_[i];
  }
  friend constexpr bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i) {
      if (a.values_[i] != b.values_[i]) return false;
    }
    return true;
  }
  template <class Stream>
    requires(requires(Stream& s) { s.write("", 0L); })
  friend Stream& operator<<(Stream& stream, const Shape& shape) {
    stream << '(';
    for (int i = 0; i < shape.rank_; ++i) stream << (i ? ", " : "") << shape.values_[i];
    stream << (shape.rank_ == 1 ? ",)" : ")");
    return stream;
  }

 private:
  constexpr void append(std::int64_t value, detail::Where w) {
    if (rank_ == detail::max_rank) detail::too_many_axes(static_cast<std::size_t>(rank_) + 1, w);
    values_[rank_++] = value;
  }
  int rank_ = 0;
  std::int64_t values_[detail::max_rank] = {};
};

/// An absent bound of a range, as in NumPy's `a[:3]`.
struct None {};
inline constexpr None none{};
/// A whole axis, as in NumPy's `a[:, 0]`; called, the reduction: kl::all(x > 0, axis).
struct All {
  template <class X>
  auto operator()(X&& x, detail::AxisOption a = detail::Unset{}, detail::AxisOption b = detail::Unset{},
                  detail::Where w = detail::Where::current()) const;
};
inline constexpr All all{};

namespace detail {
struct Bound {
  std::int64_t value = 0;
  bool present = false;
  constexpr Bound(None) {}
  template <class I>
    requires(std::is_integral_v<I>)
  constexpr Bound(I v) : value(static_cast<std::int64_t>(v)), present(true) {}
};
}  // namespace detail

/// start:stop:step of one axis with NumPy's meaning: negative bounds count from the end, bounds are clamped.
struct Range {
  detail::Bound start, stop;
  std::int64_t step;
};
constexpr Range range(detail::Bound start, detail::Bound stop, std::int64_t step = 1) { return {start, stop, step}; }
constexpr Range range(detail::Bound stop) { return {none, stop, 1}; }

namespace detail {

/// One argument of a(...): an index, a range or `all`, as the bridge's four numbers, and where it was written.
struct SliceItem {
  std::int64_t flags = 0, start = 0, stop = 0, step = 1;
  Where where;

  template <class I>
    requires(std::is_integral_v<I>)
  constexpr SliceItem(I index, const char* f = __builtin_FILE(), unsigned l = __builtin_LINE())
      : flags(slice_is_index | slice_has_start), start(static_cast<std::int64_t>(index)), where{f, l} {}
  constexpr SliceItem(All, const char* f = __builtin_FILE(), unsigned l = __builtin_LINE()) : where{f, l} {}
  constexpr SliceItem(const Range& r, const char* f = __builtin_FILE(), unsigned l = __builtin_LINE())
      : flags((r.start.present ? slice_has_start : 0) | (r.stop.present ? slice_has_stop : 0)),
        start(r.start.value),
        stop(r.stop.value),
        step(r.step),
        where{f, l} {}
};

}  // namespace detail
}  // namespace kiln
