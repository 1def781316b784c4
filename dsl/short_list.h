// dsl/short_list.h -- a list that lives on the stack until it grows long.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

namespace kiln::dsl {

/// Up to N elements on the stack, more on the heap. Elements that nobody wrote are not initialised.
template <class T, std::size_t N>
class ShortList {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  ShortList() = default;
  /// `size` elements to be written through [] or data().
  explicit ShortList(std::size_t size) : size_(static_cast<unsigned>(size)) {
    if (size <= N) return;
    heap_ = std::make_unique_for_overwrite<T[]>(size);
    data_ = heap_.get();
    capacity_ = size_;
  }
  ShortList(const ShortList&) = delete;
  ShortList& operator=(const ShortList&) = delete;

  void push(const T& value) {
    if (size_ == capacity_) [[unlikely]]
      grow();
    new (data_ + size_++) T(value);
  }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  unsigned size() const { return size_; }

 private:
  void grow() {
    auto larger = std::make_unique_for_overwrite<T[]>(2 * std::size_t{capacity_});
    std::copy_n(data_, size_, larger.get());
    heap_ = std::move(larger);
    data_ = heap_.get();
    capacity_ *= 2;
  }

  // NOLINTNEXTLINE(bugprone-sizeof-expression): elements may be pointers
  alignas(std::max<std::size_t>(16, alignof(T))) std::byte inline_[N * sizeof(T)];
  std::unique_ptr<T[]> heap_;
  T* data_ = reinterpret_cast<T*>(inline_);
  unsigned size_ = 0, capacity_ = N;
};

}  // namespace kiln::dsl
