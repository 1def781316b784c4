// kiln/array.h -- Array<T>, which owns its elements, and View<T>, which refers to elements and keeps them alive.
#pragma once

#include <vector>

#include <kiln/detail/assignment.h>
#include <kiln/device.h>
#include <kiln/functions.h>

namespace kiln {
namespace detail {

/// `count` values in host memory.
template <class V>
std::vector<V> host_values(std::int64_t count, Where w) {
  try {
    return std::vector<V>(static_cast<std::size_t>(count));
  } catch (...) {  // of the standard library's, which name no size
    fail_host_memory(count, sizeof(V), w);
  }
}

/// Numbers in braces on the right of an assignment.
struct Braced {
  template <number N>
  Braced(N) {
    static_assert(no_dtype<N>::value, "kiln: numbers in braces are copied first: x = kl::from_host({1, 2})");
  }
  Braced(std::initializer_list<Braced>) {}
};

/// What arrays and views have in common: reading. `Element` is what views of a const Self refer to.
template <class Self, class T>
class ArrayBase : public Operators<Self> {
 public:
  using value_type = std::remove_const_t<T>;
  static constexpr DType dtype = dtype_of<value_type>;

  Shape shape() const { return handle_.layout ? Shape(handle_.layout->shape, handle_.layout->rank) : Shape{0}; }
  /// In elements.
  Shape strides() const { return handle_.layout ? Shape(handle_.layout->strides, handle_.layout->rank) : Shape{1}; }
  int ndim() const { return handle_.layout ? handle_.layout->rank : 1; }
  std::int64_t size() const { return handle_.layout ? handle_.layout->size : 0; }
  bool is_contiguous() const { return !handle_.layout || handle_.layout->contiguous; }
  Device device() const {
    if (!handle_.layout) return Device::current();
    return {static_cast<DeviceKind>(handle_.layout->device_kind), handle_.layout->device_index};
  }

  /// Copies the elements to the host in C order, after the current stream's work.
  std::vector<value_type> to_host(Where w = Where::current()) const {
    auto values = detail::host_values<std::conditional_t<dtype == DType::b1, unsigned char, value_type>>(size(), w);
    if (size()) detail::to_host(handle_, values.data(), w);
    if constexpr (dtype == DType::b1) {
      return {values.begin(), values.end()};
    } else {
      return values;
    }
  }
  void to_host(value_type* values, Where w = Where::current()) const {
    if (size()) detail::to_host(handle_, values, w);
  }
  /// The value of an array of one element.
  value_type item(Where w = Where::current()) const {
    check_single(handle_.layout, w);
    alignas(16) unsigned char bytes[sizeof(value_type)];
    detail::to_host(handle_, bytes, w);
    value_type value;
    __builtin_memcpy(&value, bytes, sizeof value);
    return value;
  }
  Array<value_type> clone(Where w = Where::current()) const;
  Array<value_type> to(Device device, Where w = Where::current()) const;
  template <class U>
  Array<U> astype(Where w = Where::current()) const;

  /// Arrays have many values, and expressions none yet: neither can steer C++ control flow.
  template <class B = bool>
  explicit operator B() const {
    static_assert(no_dtype<B>::value,
                  "kiln: an array in if, ?: or while has many values; use kl::where(condition, a, b), or kl::any and "
                  "kl::all with .item()");
    return B{};
  }

  // For the library's templates.
  const Handle& handle() const { return handle_; }
  Handle share() const {
    retain(handle_.storage);
    return handle_;
  }
  Handle release() {
    const Handle h = handle_;
    handle_ = {};
    return h;
  }

 protected:
  ArrayBase() = default;
  explicit ArrayBase(const Handle& owned) : handle_(owned) {}
  ~ArrayBase() { detail::release(handle_.storage); }
  ArrayBase(const ArrayBase&) = delete;
  ArrayBase& operator=(const ArrayBase&) = delete;

  Handle view_handle(ViewKind kind, const std::int64_t* numbers, unsigned count, Where w) const {
    const Handle h = detail::view_of(handle_, static_cast<int>(kind), numbers, count, w);
    retain(h.storage);
    return h;
  }

  Handle handle_;
};

}  // namespace detail

/// Refers to elements of an array or of the caller's memory, with any strides, and keeps their storage alive. Copying a
/// View copies the reference; assigning to one writes elements, as NumPy's a[...] = b. View<const T> only reads.
template <class T>
class View : public detail::ArrayBase<View<T>, T>,
             public detail::ViewOperations<View<T>>,
             public detail::CompoundAssignment<View<T>> {
  using Base = detail::ArrayBase<View<T>, T>;

 public:
  View() = delete;  // of what?
  View(const View& other) : Base(other.share()) {}
  View(View&& other) noexcept : Base(other.release()) {}
  /// A View<T> reads as a View<const T>.
  template <class U>
    requires(std::is_same_v<const U, T>)
  View(const View<U>& other) : Base(other.share()) {}
  View(Array<std::remove_const_t<T>>& array) : Base(array.share()) {}
  View(const Array<std::remove_const_t<T>>& array)
    requires(std::is_const_v<T>)
      : Base(array.share()) {}

  /// Writes the elements. The right side must have this shape or broadcast to it; it may overlap this view in any way.
  template <class X>
    requires(detail::is_expression<std::remove_cvref_t<X>>)
  View& operator=(X&& x) {
    update(x);
    return *this;
  }
  View& operator=(const detail::Placed<false, Base::dtype>& x) {
    static_assert(!std::is_const_v<T>,
                  "kiln: a View<const T> only reads; take the view from an array that is not const");
    detail::evaluate(*x.shaped, this->handle_, x.slots(), x.where);
    return *this;
  }
  /// Assignment between variables. Of a volatile one, to which no temporary binds: all else takes its place along.
  View& operator=(const volatile View& other) & {
    return *this = detail::Placed<false, Base::dtype>(const_cast<const View&>(other), nullptr, 0);
  }
  template <class X>
    requires(!detail::assignable<std::remove_cvref_t<X>>)
  View& operator=(const X&) {
    static_assert(
        detail::no_dtype<X>::value,
        "kiln: arrays, expressions and C++ numbers are assigned to a view; copy host memory with kl::from_host");
    return *this;
  }
  View& operator=(std::initializer_list<detail::Braced>) { return *this; }
  template <class X>
    requires(detail::is_expression<X>)
  const View& operator=(const X&) const {
    static_assert(detail::no_dtype<X>::value, "kiln: a view that is const itself cannot be assigned to");
    return *this;
  }
  const View& operator=(const detail::Placed<false, Base::dtype>&) const {
    static_assert(detail::no_dtype<T>::value, "kiln: a view that is const itself cannot be assigned to");
    return *this;
  }

  T* data() const { return static_cast<T*>(this->handle_.data); }

  // For the library's templates.
  explicit View(const detail::Handle& owned) : Base(owned) {}
  View viewed(detail::ViewKind kind, const std::int64_t* numbers, unsigned count, detail::Where w) const {
    return View(this->view_handle(kind, numbers, count, w));
  }
  template <class S>
  void update(const Expression<S>& value, detail::Where w = {}) {
    static_assert(!std::is_const_v<T>,
                  "kiln: a View<const T> only reads; take the view from an array that is not const");
    detail::assign<false, Base::dtype>(this->handle_, value, w);
  }
  detail::Target target() { return {&this->handle_, Base::dtype, false}; }
};

/// An array that owns its elements: a regular value. Copying copies the elements, moving is cheap. A
/// default-constructed array is empty and takes the shape of what is assigned to it.
template <class T>
class Array : public detail::ArrayBase<Array<T>, T>,
              public detail::ViewOperations<Array<T>>,
              public detail::CompoundAssignment<Array<T>> {
  static_assert(std::is_same_v<T, std::remove_cv_t<T>>,
                "kiln: the elements of an Array are not const; see View<const T>");
  using Base = detail::ArrayBase<Array<T>, T>;
  using Views = detail::ViewOperations<Array<T>>;

 public:
  Array() = default;
  /// Uninitialised elements in C order on the current device: Array<float> a({rows, columns}), b(n). (From braces
  /// directly, not through a Shape: an Array of braces would be as good.)
  explicit Array(std::initializer_list<detail::Extent> extents, detail::Where w = detail::Where::current())
      : Array(Shape(extents, w), w) {}
  explicit Array(const Shape& shape, detail::Where w = detail::Where::current())
      : Base(detail::allocate(Base::dtype, shape.data(), shape.rank(), w)) {}
  Array(const Shape& shape, Device device, detail::Where w = detail::Where::current())
      : Base(detail::allocate_on(Base::dtype, shape.data(), shape.rank(), device.kind_number(), device.index(), w)) {}
  template <class... N>
    requires(detail::several_integers<N...>)
  explicit Array(N...) {
    static_assert(!sizeof...(N), "kiln: a shape stands in braces: kl::Array<float> a({3, 4})");
  }
  Array(const Array& other) : Base(other.handle_.layout ? detail::clone(other.handle_) : detail::Handle{}) {}
  Array(Array&& other) noexcept : Base(other.handle_) { other.handle_ = {}; }
  /// Evaluates an expression or copies a view, converting the elements.
  template <class X>
    requires(detail::array_operand<X>)
  Array(X&& x, detail::Where w = detail::Where::current()) {
    detail::assign<true, Base::dtype>(
        this->handle_, detail::value_of<Base::dtype, std::remove_cvref_t<X>>(x, detail::is_movable<X>), w);
  }

  template <detail::host_memory X>
    requires(!std::is_convertible_v<const X&, Shape>)
  Array(const X&) {
    static_assert(detail::no_dtype<X>::value,
                  "kiln: an array of host memory is made by copying: kl::from_host(values)");
  }
  template <class X>
    requires(std::is_floating_point_v<X> || std::is_pointer_v<X> || std::is_array_v<X>)
  explicit Array(const X&) {
    static_assert(detail::no_dtype<X>::value,
                  "kiln: an array is made of its extents, kl::Array<float> a({2, 3}); kl::full({2, 3}, 2.5f) fills it, "
                  "kl::from_host copies values");
  }

  /// Takes the elements over, as they lie. Inside kl::capture it copies them instead (a launch is recorded): an array
  /// that was there before keeps its memory, which is what the graph knows of it. An error is then thrown at the end of
  /// the capture. (A template: to an Array&& views and arrays of other types would convert, beside Placed.)
  template <class X>
    requires(std::is_same_v<X, Array>)
  Array& operator=(X&& other) noexcept {
    detail::move_array(this->handle_, other.handle_);
    return *this;
  }
  Array& operator=(const volatile Array& variable) & {  // as of a View
    const Array& other = const_cast<const Array&>(variable);
    const detail::Layout *mine = this->handle_.layout, *theirs = other.handle_.layout;
    const bool same_device =
        mine && theirs && mine->device_kind == theirs->device_kind && mine->device_index == theirs->device_index;
    if (!same_device || !(this->shape() == other.shape())) return *this = Array(other);
    detail::assign<true, Base::dtype>(this->handle_, detail::expression_of(other, false));
    return *this;
  }
  /// Computes into this array; another shape reallocates it.
  template <class X>
    requires(detail::is_expression<std::remove_cvref_t<X>>)
  Array& operator=(X&& x) {  // spelled out: most assignments, and each instantiation costs time
    using E = std::remove_cvref_t<X>;
    detail::require_convertible<E::dtype, Base::dtype>();
    evaluate(detail::site_of<true, Base::dtype, typename E::Structure>, this->handle_, x.slots.items);
    return *this;
  }
  /// Copies a view or an array of another type, fills this array with a number.
  Array& operator=(const detail::Placed<true, Base::dtype>& x) {
    detail::evaluate(this->handle_.layout ? *x.shaped : *x.unshaped, this->handle_, x.slots(), x.where);
    return *this;
  }
  template <class X>
    requires(detail::is_expression<X>)
  const Array& operator=(const X&) const {
    static_assert(detail::no_dtype<X>::value, "kiln: a const array cannot be assigned to");
    return *this;
  }
  const Array& operator=(const detail::Placed<true, Base::dtype>&) const {
    static_assert(detail::no_dtype<T>::value, "kiln: a const array cannot be assigned to");
    return *this;
  }
  Array& operator=(std::initializer_list<detail::Braced>) { return *this = Array(); }  // of {}: all else is refused
  template <class X>
    requires(!detail::assignable<std::remove_cvref_t<X>>)
  Array& operator=(const X&) {
    static_assert(
        detail::no_dtype<X>::value,
        "kiln: arrays, expressions and C++ numbers are assigned to an array; copy host memory with kl::from_host");
    return *this;
  }

  T* data() { return static_cast<T*>(this->handle_.data); }
  const T* data() const { return static_cast<const T*>(this->handle_.data); }

  // Views of a mutable array write to it; those of a const one (ViewOperations) only read.
  using Views::operator();
  using Views::broadcast_to;
  using Views::flip;
  using Views::reshape;
  using Views::squeeze;
  using Views::t;
  using Views::transpose;
  using Views::unsqueeze;
  View<T> transpose(const Shape& axes, detail::Where w = detail::Where::current()) { return all().transpose(axes, w); }
  View<T> t(detail::Where w = detail::Where::current()) { return all().t(w); }
  View<T> reshape(const Shape& shape, detail::Where w = detail::Where::current()) { return all().reshape(shape, w); }
  View<T> broadcast_to(const Shape& shape, detail::Where w = detail::Where::current()) {
    return all().broadcast_to(shape, w);
  }
  View<T> squeeze(detail::Where w = detail::Where::current()) { return all().squeeze(w); }
  View<T> squeeze(int axis, detail::Where w = detail::Where::current()) { return all().squeeze(axis, w); }
  View<T> unsqueeze(int axis, detail::Where w = detail::Where::current()) { return all().unsqueeze(axis, w); }
  View<T> flip(detail::Where w = detail::Where::current()) { return all().flip(w); }
  View<T> flip(int axis, detail::Where w = detail::Where::current()) { return all().flip(axis, w); }
  template <class... Items>
    requires(std::is_convertible_v<Items, detail::SliceItem> && ...)
  View<T> operator()(detail::SliceItem first, const Items&... items) {
    return all()(first, items...);
  }

  // For the library's templates.
  template <class H>  // or Array({0}) would be ambiguous
    requires(std::is_same_v<H, detail::Handle>)
  explicit Array(const H& owned) : Base(owned) {}
  View<const T> viewed(detail::ViewKind kind, const std::int64_t* numbers, unsigned count, detail::Where w) const {
    return View<const T>(this->view_handle(kind, numbers, count, w));
  }
  template <class S>
  void update(const Expression<S>& value, detail::Where w = {}) {
    detail::assign<false, Base::dtype>(this->handle_, value, w);
  }
  detail::Target target() { return {&this->handle_, Base::dtype, true}; }

 private:
  View<T> all() { return View<T>(*this); }
};

/// kl::Array y = a + b: the elements' type is the expression's.
template <class X>
  requires(detail::array_operand<X> || detail::host_memory<std::remove_cvref_t<X>>)
Array(X&&) -> Array<typename std::remove_cvref_t<X>::value_type>;

namespace detail {

static_assert(sizeof(Array<float>) == sizeof(Slot) && sizeof(View<float>) == sizeof(Slot),
              "operands are passed to the library by their address alone");

template <class Self, class T>
Array<std::remove_const_t<T>> ArrayBase<Self, T>::clone(Where w) const {
  return Array<value_type>(handle_.layout ? detail::clone(handle_, w) : Handle{});
}
template <class Self, class T>
Array<std::remove_const_t<T>> ArrayBase<Self, T>::to(Device device, Where w) const {
  return Array<value_type>(handle_.layout ? to_device(handle_, device.kind_number(), device.index(), w) : Handle{});
}
template <class Self, class T>
template <class U>
Array<U> ArrayBase<Self, T>::astype(Where w) const {
  return Array<U>(cast<U>(static_cast<const Self&>(*this), w));
}

}  // namespace detail
}  // namespace kiln
