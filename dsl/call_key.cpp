// dsl/call_key.cpp -- gathers the key of a call; part of the cost of every launch.
#include "dsl/call_key.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

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
    if (std::abs(at[static_cast<std::size_t>(axis)]) > (step == 1 ? farthest_contiguous : farthest)) return std::nullopt;
  }
  return distance == 0 ? std::optional(at) : std::nullopt;
}

unsigned neighbour_of(const Handle* inputs, unsigned i) {
  const Handle& own = inputs[i];
  if (!own.storage || !own.layout) return i;
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
  push(call.input_count | std::uint64_t{call.target_count} << 32);
  push(call.scalar_count | std::uint64_t{call.tag_count} << 32);
  push(static_cast<std::uint64_t>(call.options.contract) | std::uint64_t{call.options.fast_math} << 1 |
       std::uint64_t{call.options.lineinfo} << 2 | std::uint64_t{call.launch != nullptr} << 3 |
       static_cast<std::uint64_t>(current.kind) << 8 | static_cast<std::uint64_t>(current.index) << 16);
  push_inputs(call);
  push_targets(call);
  std::uint64_t types = 0;
  for (unsigned i = 0; i < call.scalar_count; ++i) {
    types = types << 8 | static_cast<std::uint64_t>(call.scalars[i].type);
    if (i % 8 == 7) {
      push(types);
      types = 0;
    }
  }
  if (call.scalar_count % 8) push(types);
  for (unsigned i = 0; i < call.tag_count; ++i) push(reinterpret_cast<std::uint64_t>(call.tags[i]));
  if (call.launch) push_launch(*call.launch);
  push_overlaps(call);
  hash_ ^= hash_ >> 32;
}

void CallKey::grow() {
  auto larger = std::make_unique<std::uint64_t[]>(capacity_ * 2);
  std::copy_n(words_, size_, larger.get());
  heap_ = std::move(larger);
  words_ = heap_.get();
  capacity_ *= 2;
}

void CallKey::push_inputs(const detail::Call& call) {
  unsigned few[quadratic_limit];
  std::unique_ptr<unsigned[]> many;
  unsigned* merged = few;
  if (call.input_count > quadratic_limit) {
    many = std::make_unique<unsigned[]>(call.input_count);
    merged = many.get();
  }
  merge_inputs(call.inputs, call.input_count, merged);
  for (unsigned i = 0; i < call.input_count; ++i) {
    const Handle& input = call.inputs[i];
    push(reinterpret_cast<std::uint64_t>(input.layout));
    // An operand without storage is an index: its "address" is a number that is passed at each launch.
    push(input.storage ? std::uint64_t{merged[i]} << 8 | 16 | (address_of(input) & 15) : std::uint64_t{merged[i]} << 8);
    if (merged[i] != i) continue;
    const unsigned neighbour = neighbour_of(call.inputs, i);
    if (neighbour == i) continue;
    push(std::uint64_t{1} << 63 | neighbour);
    push(address_of(input) - address_of(call.inputs[neighbour]));
  }
}

void CallKey::push_targets(const detail::Call& call) {
  for (unsigned i = 0; i < call.target_count; ++i) {
    const detail::Target& target = call.targets[i];
    push(reinterpret_cast<std::uint64_t>(target.handle->layout));
    push((address_of(*target.handle) & 15) | std::uint64_t{target.resizable} << 4 |
         static_cast<std::uint64_t>(target.type) << 8);
  }
}

void CallKey::push_overlaps(const detail::Call& call) {
  const auto note = [&](const Handle& other, const Handle& target, std::uint64_t pair) {
    if (!other.layout || !ranges_meet(other, target)) return;
    const bool identical = other.data == target.data && other.layout == target.layout;
    push(pair << 1 | identical);
    if (!identical) push(address_of(other) - address_of(target));
  };
  for (unsigned t = 0; t < call.target_count; ++t) {
    const Handle& target = *call.targets[t].handle;
    if (!target.layout) continue;
    for (unsigned i = 0; i < call.input_count; ++i)
      if (call.inputs[i].storage) note(call.inputs[i], target, std::uint64_t{t} << 32 | i);
    for (unsigned other = 0; other < t; ++other)
      note(*call.targets[other].handle, target, std::uint64_t{t} << 32 | 0x40000000u | other);
  }
}

void CallKey::push_launch(const detail::LaunchControl& launch) {
  for (const unsigned* dims : {launch.grid, launch.block}) {
    push(dims[0] | std::uint64_t{dims[1]} << 32);
    push(dims[2]);
  }
  push(launch.items | std::uint64_t{launch.shared_bytes} << 32);
  push(launch.cluster | std::uint64_t{launch.cooperative} << 32 | std::uint64_t{launch.tune} << 33);
}

}  // namespace kiln::dsl
