// kiln/detail/view_operations.h -- transposing, reshaping and slicing, shared by expressions and traced values.
#pragma once

#include <kiln/detail/element.h>
#include <kiln/shape.h>

namespace kiln::detail {

/// What a loop over the elements of X would take for an iterator, and nothing else would.
template <class X>
struct NoIterator {
  NoIterator& operator++();
  typename X::value_type operator*() const;
  bool operator!=(const NoIterator&) const;
};

/// `Self` provides `auto viewed(ViewKind, const std::int64_t* numbers, unsigned count, Where) const`.
template <class Self>
struct ViewOperations {
  auto transpose(const Shape& axes, Where w = Where::current()) const { return view(ViewKind::transpose, axes, w); }
  auto t(Where w = Where::current()) const { return view(ViewKind::transpose, {}, w); }
  auto reshape(const Shape& shape, Where w = Where::current()) const { return view(ViewKind::reshape, shape, w); }
  auto broadcast_to(const Shape& shape, Where w = Where::current()) const {
    return view(ViewKind::broadcast_to, shape, w);
  }
  /// NumPy's x.reshape(3, 4).
  template <class... N>
    requires(several_integers<N...>)
  Self reshape(N...) const {
    static_assert(!sizeof...(N), "kiln: a shape stands in braces: x.reshape({3, 4})");
    return static_cast<const Self&>(*this);
  }
  template <class... N>
    requires(several_integers<N...>)
  Self transpose(N...) const {
    static_assert(!sizeof...(N), "kiln: a list of axes stands in braces: x.transpose({1, 0})");
    return static_cast<const Self&>(*this);
  }
  template <class... N>
    requires(several_integers<N...>)
  Self broadcast_to(N...) const {
    static_assert(!sizeof...(N), "kiln: a shape stands in braces: x.broadcast_to({3, 4})");
    return static_cast<const Self&>(*this);
  }
  auto squeeze(Where w = Where::current()) const { return view(ViewKind::squeeze, {}, w); }
  auto squeeze(int axis, Where w = Where::current()) const { return view(ViewKind::squeeze, {axis}, w); }
  auto unsqueeze(int axis, Where w = Where::current()) const { return view(ViewKind::unsqueeze, {axis}, w); }
  auto flip(Where w = Where::current()) const { return view(ViewKind::flip, {}, w); }
  auto flip(int axis, Where w = Where::current()) const { return view(ViewKind::flip, {axis}, w); }

  /// NumPy's basic slicing: an index, kl::range or kl::all per axis; missing ones mean all.
  template <class... Items>
    requires(std::is_convertible_v<Items, SliceItem> && ...)
  auto operator()(SliceItem first, const Items&... items) const {  // `first` converts at the call and notes its place
    return slice_of(first, SliceItem(items)...);
  }
  template <class... X>
    requires(!std::is_convertible_v<X, SliceItem> || ...)
  Self operator()(const X&...) const {
    constexpr bool arrays = any_operand<X...>;
    static_assert(!arrays,
                  "kiln: arrays are no indices in parentheses: kl::take(x, ids, 0) for x[ids], kl::where(mask, x, 0) "
                  "for x[mask]");
    static_assert(arrays,
                  "kiln: an index is an integer, kl::range(start, stop, step), kl::all, or kl::none in a range");
    return static_cast<const Self&>(*this);
  }
  template <class I>
  Self operator[](const I&) const {
    static_assert(no_dtype<I>::value,
                  "kiln: elements and slices are taken in parentheses: a(0), a(kl::range(1, 3), kl::all)");
    return static_cast<const Self&>(*this);
  }

  /// The elements may be on a GPU, and those of an expression or traced value are not computed yet.
  template <class X = Self>
  NoIterator<X> begin() const {
    static_assert(role_of<X> == Role::traced,
                  "kiln: the elements of an array may be on a GPU; loop over a copy: for (float v : x.to_host())");
    static_assert(role_of<X> != Role::traced,
                  "kiln: a traced value has no elements yet; write what is done with all of them at once, or reduce");
    return {};
  }
  template <class X = Self>
  NoIterator<X> end() const {
    return {};
  }

 private:
  auto view(ViewKind kind, const Shape& numbers, Where w) const {
    return static_cast<const Self&>(*this).viewed(kind, numbers.data(), static_cast<unsigned>(numbers.size()), w);
  }
  template <class... Items>
  auto slice_of(const SliceItem& first, const Items&... items) const {
    const std::int64_t numbers[][4] = {{first.flags, first.start, first.stop, first.step},
                                       {items.flags, items.start, items.stop, items.step}...};
    return static_cast<const Self&>(*this).viewed(ViewKind::slice, numbers[0], 4 + 4 * sizeof...(Items), first.where);
  }
};

}  // namespace kiln::detail
