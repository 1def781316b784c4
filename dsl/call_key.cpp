// dsl/call_key.cpp -- gathers the key of a call; part of the cost of every launch.
#include "dsl/call_key.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/hash.h"

namespace kiln::dsl {
namespace {

using detail::Handle;

std::uint64_t address_of(const Handle& handle) { return reinterpret_cast<std::uint64_t>(handle.data); }

bool same_operand(const Handle& a, const Handle& b) {
  return a.data == b.data && a.layout == b.layout && (a.storage == nullptr) == (b.storage == nullptr);
}

struct OperandHash {
  std::size_t operator()(const Handle& handle) const {
    return mix(address_of(handle), reinterpret_cast<std::uint64_t>(handle.layout));
  }
};
struct OperandEqual {
  bool operator()(const Handle& a, const Handle& b) const { return same_operand(a, b); }
};

/// Do the byte ranges of two arrays meet?
bool ranges_meet(const Handle& a, const Handle& b) {
  const std::int64_t distance = static_cast<std::int64_t>(address_of(a) - address_of(b));
  return distance + a.layout->low < b.layout->high && b.layout->low < distance + a.layout->high;
}

constexpr unsigned quadratic_limit = 24;
constexpr unsigned overlap_target = 0x40000000u;  ///< + number: another target, in words about overlaps

/// The pairs of a target and an operand, or an earlier target, whose bytes may meet, for calls of hundreds of arrays:
/// sorted by start, each target is compared with what starts before its end only.
class MeetingRanges {
 public:
  explicit MeetingRanges(const detail::Call& call) {
    for (unsigned i = 0; i < call.input_count; ++i)
      if (call.inputs[i].storage && call.inputs[i].layout) add(call.inputs[i], i);
    for (unsigned t = 0; t < call.target_count; ++t)
      if (call.targets[t].handle->layout) add(*call.targets[t].handle, overlap_target + t);
    std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.number < b.number;
    });
  }

  /// (target, other), in the order of their numbers.
  std::vector<std::pair<unsigned, unsigned>> pairs() const {
    std::vector<std::pair<unsigned, unsigned>> result;
    std::vector<const Range*> open;  // those that end behind the start of the current one
    for (const Range& range : ranges_) {
      std::erase_if(open, [&](const Range* other) { return other->end <= range.begin; });
      for (const Range* other : open) add_pair(range.number, other->number, result);
      open.push_back(&range);
    }
    std::sort(result.begin(), result.end());
    return result;
  }

 private:
  struct Range {
    std::uint64_t begin, end;
    unsigned number;
  };
  void add(const Handle& handle, unsigned number) {
    const std::uint64_t begin = address_of(handle) + static_cast<std::uint64_t>(handle.layout->low);
    const std::uint64_t end = address_of(handle) + static_cast<std::uint64_t>(handle.layout->high);
    ranges_.push_back({begin, std::max(end, begin + 1), number});
  }
  static void add_pair(unsigned a, unsigned b, std::vector<std::pair<unsigned, unsigned>>& result) {
    if (a < overlap_target && b < overlap_target) return;
    const auto [low, high] = std::minmax(a, b);
    result.emplace_back(high - overlap_target, low);
  }

  std::vector<Range> ranges_;
};
/// Are two inputs views of one memory, which may then be neighbours?
bool shares_memory(const Handle* inputs, unsigned count) {
  if (count > quadratic_limit) return true;
  for (unsigned i = 1; i < count; ++i)
    for (unsigned j = 0; j < i; ++j)
      if (inputs[j].storage == inputs[i].storage) return true;
  return false;
}

constexpr std::size_t head_words = 3, launch_words = 6;

/// Two lanes, so that one multiplication need not wait for the one before it.
std::uint64_t hash_of(const std::uint64_t* words, unsigned size) {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15ull, other = 0xd6e8feb86659fd93ull;
  std::uint64_t first = size, second = odd;
  unsigned i = 0;
  for (; i + 2 <= size; i += 2) {
    first = (first ^ words[i]) * odd;
    second = (second ^ words[i + 1]) * other;
  }
  if (i < size) first = (first ^ words[i]) * odd;
  const std::uint64_t hash = first ^ second >> 32 ^ second << 32;
  return hash ^ hash >> 32;
}

}  // namespace

std::optional<std::array<std::int64_t, detail::max_rank>> neighbouring(std::int64_t distance,
                                                                       const std::int64_t* strides, int rank) {
  constexpr std::int64_t farthest = 4, farthest_contiguous = 8;
  std::array<std::int64_t, detail::max_rank> at = {};
  std::uint32_t left = (1u << rank) - 1;
  while (left != 0) {
    int axis = -1;  // of the longest step that is left
    for (int other = 0; other < rank; ++other)
      if ((left >> other & 1) != 0 && (axis < 0 || std::abs(strides[other]) > std::abs(strides[axis]))) axis = other;
    left &= ~(1u << axis);
    const std::int64_t step = strides[axis], half = std::abs(step) / 2;
    if (step == 0) continue;
    at[static_cast<std::size_t>(axis)] = (distance + (distance < 0 ? -half : half)) / step;
    distance -= at[static_cast<std::size_t>(axis)] * step;
    if (std::abs(at[static_cast<std::size_t>(axis)]) > (step == 1 ? farthest_contiguous : farthest))
      return std::nullopt;
  }
  return distance == 0 ? std::optional(at) : std::nullopt;
}

unsigned neighbour_of(const Handle* inputs, unsigned i) {
  const Handle& own = inputs[i];
  if (!own.storage || !own.layout || i >= quadratic_limit) return i;
  for (unsigned j = 0; j < i; ++j) {
    if (inputs[j].storage != own.storage || inputs[j].layout != own.layout || inputs[j].data == own.data) continue;
    const auto bytes = static_cast<std::int64_t>(address_of(own) - address_of(inputs[j]));
    const auto element = static_cast<std::int64_t>(size_of(own.layout->dtype));
    if (bytes % element == 0 && neighbouring(bytes / element, own.layout->strides, own.layout->rank)) return j;
  }
  return i;
}

void merge_inputs(const Handle* inputs, unsigned count, unsigned* merged) {
  if (count <= quadratic_limit) {
    for (unsigned i = 0; i < count; ++i) {
      unsigned first = 0;
      while (!same_operand(inputs[first], inputs[i])) ++first;
      merged[i] = first;
    }
    return;
  }
  std::unordered_map<Handle, unsigned, OperandHash, OperandEqual> seen;
  for (unsigned i = 0; i < count; ++i) merged[i] = seen.try_emplace(inputs[i], i).first->second;
}

CallKey::CallKey(const detail::Call& call, runtime::DeviceId current) {
  std::uint64_t* at =
      make_room(inline_, head_words + launch_words + 2 * std::size_t{call.input_count} +
                             2 * std::size_t{call.target_count} + call.scalar_count / 8 + 1 + call.tag_count);
  at = write_head(at, call, current);
  at = write_inputs(at, call);
  at = write_targets(at, call);
  at = write_scalars(at, call);
  if (call.launch) at = write_launch(at, *call.launch);
  at = write_overlaps(at, call);
  if (shares_memory(call.inputs, call.input_count)) [[unlikely]]
    at = write_neighbours(at, call);
  size_ = static_cast<unsigned>(at - words_);
  hash_ = hash_of(words_, size_);
}

std::uint64_t* CallKey::grow(std::uint64_t* at, std::size_t count) {
  const auto used = static_cast<std::size_t>(at - words_), room = static_cast<std::size_t>(end_ - words_);
  const std::size_t larger = std::max(2 * room, used + count);
  auto words = std::make_unique<std::uint64_t[]>(larger);
  std::copy_n(words_, used, words.get());
  heap_ = std::move(words);
  words_ = heap_.get();
  end_ = words_ + larger;
  return words_ + used;
}

std::uint64_t* CallKey::write_head(std::uint64_t* at, const detail::Call& call, runtime::DeviceId current) {
  at[0] = call.input_count | std::uint64_t{call.target_count} << 32;
  at[1] = call.scalar_count | std::uint64_t{call.tag_count} << 32;
  at[2] = static_cast<std::uint64_t>(call.options.contract) | std::uint64_t{call.options.fast_math} << 1 |
          std::uint64_t{call.options.lineinfo} << 2 | std::uint64_t{call.launch != nullptr} << 3 |
          static_cast<std::uint64_t>(current.kind) << 8 | static_cast<std::uint64_t>(current.index) << 16;
  return at + head_words;
}

std::uint64_t* CallKey::write_inputs(std::uint64_t* at, const detail::Call& call) {
  unsigned few[quadratic_limit];
  std::unique_ptr<unsigned[]> many;
  unsigned* merged = few;
  if (call.input_count > quadratic_limit) [[unlikely]] {
    many = std::make_unique<unsigned[]>(call.input_count);
    merged = many.get();
  }
  merge_inputs(call.inputs, call.input_count, merged);
  for (unsigned i = 0; i < call.input_count; ++i) {
    const Handle& input = call.inputs[i];
    *at++ = reinterpret_cast<std::uint64_t>(input.layout);
    // An operand without storage is an index: its "address" is a number that is passed at each launch.
    *at++ =
        input.storage ? std::uint64_t{merged[i]} << 8 | 16 | (address_of(input) & 15) : std::uint64_t{merged[i]} << 8;
  }
  return at;
}

std::uint64_t* CallKey::write_neighbours(std::uint64_t* at, const detail::Call& call) {
  for (unsigned i = 1; i < call.input_count; ++i) {
    const unsigned neighbour = neighbour_of(call.inputs, i);
    if (neighbour == i) continue;
    at = make_room(at, 2);
    *at++ = std::uint64_t{1} << 63 | std::uint64_t{i} << 32 | neighbour;
    *at++ = address_of(call.inputs[i]) - address_of(call.inputs[neighbour]);
  }
  return at;
}

std::uint64_t* CallKey::write_targets(std::uint64_t* at, const detail::Call& call) {
  for (unsigned i = 0; i < call.target_count; ++i) {
    const detail::Target& target = call.targets[i];
    *at++ = reinterpret_cast<std::uint64_t>(target.handle->layout);
    *at++ = (address_of(*target.handle) & 15) | std::uint64_t{target.resizable} << 4 |
            static_cast<std::uint64_t>(target.type) << 8;
  }
  return at;
}

std::uint64_t* CallKey::write_scalars(std::uint64_t* at, const detail::Call& call) {
  std::uint64_t types = 0;
  for (unsigned i = 0; i < call.scalar_count; ++i) {
    types = types << 8 | static_cast<std::uint64_t>(call.scalars[i].type);
    if (i % 8 != 7) continue;
    *at++ = types;
    types = 0;
  }
  if (call.scalar_count % 8) *at++ = types;
  for (unsigned i = 0; i < call.tag_count; ++i) *at++ = reinterpret_cast<std::uint64_t>(call.tags[i]);
  return at;
}

std::uint64_t* CallKey::write_overlaps(std::uint64_t* at, const detail::Call& call) {
  const auto note = [&](const Handle& other, const Handle& target, std::uint64_t pair) {
    const bool identical = other.data == target.data && other.layout == target.layout;
    if (!identical && (!other.layout || !ranges_meet(other, target))) return;
    at = make_room(at, 2);
    *at++ = pair << 1 | identical;
    if (!identical) *at++ = address_of(other) - address_of(target);
  };
  if (std::size_t{call.target_count} * (call.input_count + call.target_count) > quadratic_limit * quadratic_limit) {
    for (const auto& [target, other] : MeetingRanges(call).pairs()) {
      const Handle& handle = other < overlap_target ? call.inputs[other] : *call.targets[other - overlap_target].handle;
      note(handle, *call.targets[target].handle, std::uint64_t{target} << 32 | other);
    }
    return at;
  }
  for (unsigned t = 0; t < call.target_count; ++t) {
    const Handle& target = *call.targets[t].handle;
    if (!target.layout) continue;
    for (unsigned i = 0; i < call.input_count; ++i)
      if (call.inputs[i].storage) note(call.inputs[i], target, std::uint64_t{t} << 32 | i);
    for (unsigned other = 0; other < t; ++other)
      note(*call.targets[other].handle, target, std::uint64_t{t} << 32 | overlap_target | other);
  }
  return at;
}

std::uint64_t* CallKey::write_launch(std::uint64_t* at, const detail::LaunchControl& launch) {
  for (const unsigned* dims : {launch.grid, launch.block}) {
    *at++ = dims[0] | std::uint64_t{dims[1]} << 32;
    *at++ = dims[2];
  }
  *at++ = launch.items | std::uint64_t{launch.shared_bytes} << 32;
  *at++ = launch.cluster | std::uint64_t{launch.cooperative} << 32 | std::uint64_t{launch.tune} << 33;
  return at;
}

}  // namespace kiln::dsl
