// dsl/gather.h -- from the flat parts of an expression to a Call: operands, scalars, tags, and how to trace them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/detail/program.h>

#include "dsl/fragment.h"

namespace kiln::dsl {

/// A list that lives on the stack until it exceeds N elements; what is not in use is not initialised either.
template <class T, std::size_t N>
class ShortList {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  void push(const T& value) {
    if (size_ == capacity_) [[unlikely]]
      grow();
    new (data_ + size_++) T(value);
  }
  const T* data() const { return data_; }
  unsigned size() const { return size_; }

  ShortList() = default;
  ShortList(const ShortList&) = delete;
  ShortList& operator=(const ShortList&) = delete;

 private:
  void grow() {
    auto larger = std::make_unique<T[]>(2 * capacity_);
    std::copy_n(data_, size_, larger.get());
    heap_ = std::move(larger);
    data_ = heap_.get();
    capacity_ *= 2;
  }

  alignas(T) std::byte inline_[N * sizeof(T)];
  std::unique_ptr<T[]> heap_;
  T* data_ = reinterpret_cast<T*>(inline_);
  unsigned size_ = 0, capacity_ = N;
};

/// The operands of one evaluation, in the order in which its programs consume them: the parts, then every distinct
/// fragment below them.
class Gathered {
 public:
  /// `where` is the place of the evaluation, for parts that do not know theirs.
  Gathered(const detail::Parts* parts, unsigned count, detail::Where where = {});
  Gathered(const Gathered&) = delete;
  Gathered& operator=(const Gathered&) = delete;

  /// Everything about the operands; the caller sets targets, site options and environment.
  void fill(detail::Call& call) const;
  void add_tag(const void* tag) { tags_.push(tag); }
  /// The line of the outermost operation of the first part that has one.
  detail::Where where() const { return where_; }

  /// Records the parts; writes the node of each, or for numbers the slot.
  void record(detail::Recorder& recorder, detail::TracedArgument* traced) const;

 private:
  struct Base {
    unsigned input = 0, scalar = 0;
  };
  struct Program {
    const detail::Instruction* code;
    const detail::Slot* slots;
    std::size_t size;
    Base base;
  };
  void walk(const Program& program);
  detail::NodeId run(detail::Recorder& recorder, const Program& program,
                     const std::vector<detail::NodeId>& nodes) const;
  std::vector<detail::NodeId> record_fragments(detail::Recorder& recorder) const;
  unsigned number_of(const detail::Fragment* fragment) const;

  const detail::Parts* parts_;
  unsigned part_count_;
  ShortList<Base, 8> bases_;
  std::vector<detail::Fragment*> fragments_;
  std::vector<std::pair<const detail::Fragment*, unsigned>> numbers_;  ///< sorted by address
  std::vector<Base> fragment_bases_;
  ShortList<detail::Handle, 16> inputs_;
  ShortList<detail::ScalarArgument, 8> scalars_;
  ShortList<const void*, 8> tags_;
  detail::Where where_;
};

}  // namespace kiln::dsl
