// dsl/call_key.h -- everything about a call that its plan may depend on, as words: equal words, same plan.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include <kiln/detail/bridge.h>

#include "runtime/runtime.h"

namespace kiln::dsl {

/// Built on the stack for every call. Addresses enter only through their low bits, through equality with another
/// operand, and, where an operand overlaps a destination or is read beside another, through the distance: so a plan
/// serves every call that it would be rebuilt for identically. Layouts are interned, hence compared by address.
class CallKey {
 public:
  explicit CallKey(const detail::Call& call, runtime::DeviceId current);
  CallKey(const CallKey&) = delete;
  CallKey& operator=(const CallKey&) = delete;

  const std::uint64_t* words() const { return words_; }
  unsigned size() const { return size_; }
  std::uint64_t hash() const { return hash_; }
  bool equals(const std::uint64_t* words, unsigned size) const {
    return size == size_ && std::memcmp(words, words_, size * sizeof(std::uint64_t)) == 0;
  }

 private:
  static constexpr unsigned inline_words = 64;

  // Each writes words from `at` on, for which there is room, and returns the place behind them.
  static std::uint64_t* write_head(std::uint64_t* at, const detail::Call& call, runtime::DeviceId current);
  static std::uint64_t* write_inputs(std::uint64_t* at, const detail::Call& call);
  static std::uint64_t* write_targets(std::uint64_t* at, const detail::Call& call);
  static std::uint64_t* write_scalars(std::uint64_t* at, const detail::Call& call);
  static std::uint64_t* write_launch(std::uint64_t* at, const detail::LaunchControl& launch);
  /// Pairs are many and those that meet are few: makes room as it goes.
  std::uint64_t* write_overlaps(std::uint64_t* at, const detail::Call& call);
  std::uint64_t* write_neighbours(std::uint64_t* at, const detail::Call& call);
  /// Room for `count` words behind those before `at`; returns where that place is now.
  std::uint64_t* make_room(std::uint64_t* at, std::size_t count) {
    if (count <= static_cast<std::size_t>(end_ - at)) [[likely]]
      return at;
    return grow(at, count);
  }
  std::uint64_t* grow(std::uint64_t* at, std::size_t count);

  std::uint64_t inline_[inline_words];
  std::unique_ptr<std::uint64_t[]> heap_;
  std::uint64_t* words_ = inline_;
  std::uint64_t* end_ = inline_ + inline_words;  ///< of the room
  unsigned size_ = 0;
  std::uint64_t hash_ = 0;
};

/// `distance` elements as steps along axes of these strides, the longest first; nullopt where a step is longer than
/// what a kernel may share loads across: 4 along each axis, 8 along those of stride 1.
std::optional<std::array<std::int64_t, detail::max_rank>> neighbouring(std::int64_t distance,
                                                                       const std::int64_t* strides, int rank);

/// The first of `inputs` before `i` that is the same view of the same memory at a neighbouring place; `i` if there is
/// none. Their distance is part of the key, and that of no other two operands.
unsigned neighbour_of(const detail::Handle* inputs, unsigned i);

/// `merged[i]`: the first input with the data and layout of input `i`.
void merge_inputs(const detail::Handle* inputs, unsigned count, unsigned* merged);

}  // namespace kiln::dsl
