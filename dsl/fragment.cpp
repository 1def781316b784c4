// dsl/fragment.cpp -- counts the references of expression slots; no recursion, however deep fragments nest.
#include "dsl/fragment.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>

#include "dsl/out_of_memory.h"
#include "support/fork_safe.h"

namespace kiln::dsl {
namespace {

static_assert(sizeof(detail::Instruction) == 6, "instructions are compared byte by byte");

/// Gives one reference back; a fragment that dies is put before the others.
void drop(const detail::Slot& slot, detail::Fragment*& dead) {
  if (!slot.owner) return;
  if (!is_fragment(slot)) {
    detail::release(static_cast<detail::Storage*>(slot.owner));
  } else if (__atomic_fetch_sub(&fragment_of(slot)->references, 1L, __ATOMIC_ACQ_REL) == 1L) {
    fragment_of(slot)->next_dead = std::exchange(dead, fragment_of(slot));
  }
}

void free_all(detail::Fragment* dead) {
  while (dead) {
    detail::Fragment* const fragment = std::exchange(dead, dead->next_dead);
    for (const detail::Slot& slot : fragment->slots) drop(slot, dead);
    delete fragment;
  }
}

}  // namespace

const std::vector<detail::Instruction>* intern_program(const detail::Instruction* code, unsigned size) {
  struct Programs {
    ForkSafeMutex mutex;
    std::map<std::string, std::vector<detail::Instruction>> by_content;  // addresses of values stay
  };
  static constinit Leaked<Programs> all;
  Programs& programs = all.get();
  std::string content(reinterpret_cast<const char*>(code), size * sizeof *code);
  const std::lock_guard lock(programs.mutex);
  return &programs.by_content.try_emplace(std::move(content), code, code + size).first->second;
}

std::vector<detail::Fragment*> fragments_below(const detail::Parts* parts, unsigned count) {
  std::vector<detail::Fragment*> found;
  std::unordered_set<detail::Fragment*> seen;
  const auto visit = [&](const detail::Slot* slots, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      if (is_fragment(slots[i]) && seen.insert(fragment_of(slots[i])).second) found.push_back(fragment_of(slots[i]));
    }
  };
  for (unsigned p = 0; p < count; ++p) {
    for (unsigned i = 0; i < parts[p].size; ++i) {
      if (parts[p].code[i].kind == detail::Instruction::fragment) visit(parts[p].slots + i, 1);
    }
  }
  for (std::size_t next = 0; next < found.size(); ++next) {
    const detail::Fragment& fragment = *found[next];
    for (std::size_t i = 0; i < fragment.slots.size(); ++i) {
      if ((*fragment.program)[i].kind == detail::Instruction::fragment) visit(&fragment.slots[i], 1);
    }
  }
  return found;
}

}  // namespace kiln::dsl

namespace kiln::detail {

void copy_slots(Slot* to, const Slot* from, unsigned count) noexcept {
  for (unsigned i = 0; i < count; ++i) {
    to[i] = from[i];
    if (!from[i].owner) continue;
    if (dsl::is_fragment(from[i])) {
      __atomic_fetch_add(&dsl::fragment_of(from[i])->references, 1L, __ATOMIC_RELAXED);
    } else {
      retain(static_cast<Storage*>(from[i].owner));
    }
  }
}

void release_slots(Slot* slots, unsigned count) noexcept {
  for (unsigned i = 0; i < count; ++i) {
    if (!slots[i].owner) continue;
    if (!dsl::is_fragment(slots[i])) {
      release(static_cast<Storage*>(slots[i].owner));
      continue;
    }
    Fragment* dead = nullptr;
    dsl::drop(slots[i], dead);
    dsl::free_all(dead);
  }
}

void move_slots(Slot* to, Slot* from, unsigned count) noexcept {
  __builtin_memcpy(to, from, count * sizeof *to);
  __builtin_memset(static_cast<void*>(from), 0, count * sizeof *from);
}

namespace {

/// Appends the slots of one operand.
Slot* append(Slot* to, Take take, const void* operand) noexcept {
  const auto count = static_cast<unsigned>(take >> 1 & 0xfffff);
  if ((take & 1) != 0) {
    move_slots(to, static_cast<Slot*>(const_cast<void*>(operand)), count);
  } else {
    copy_slots(to, static_cast<const Slot*>(operand), count);
  }
  return to + count;
}

/// Writes the slot of an operation whose operands have been written from `first` to `last`.
void finish(const Slot* first, Slot* last, Where where) noexcept {
  const auto count = static_cast<std::uint64_t>(last - first) + 1;
  *last = {nullptr, {reinterpret_cast<std::uintptr_t>(where.file), count << 32 | where.line}};
}

}  // namespace

void release_operation(Slot* last) noexcept {
  const auto count = static_cast<unsigned>(last->words[1] >> 32);  // 0 when the slots were moved
  release_slots(last + 1 - count, count);
}

void compose(Slot* to, Take take, const void* a) noexcept { append(to, take, a); }
void compose(Slot* to, Where where, Take take, const void* a) noexcept { finish(to, append(to, take, a), where); }
void compose(Slot* to, Where where, Take take, const void* a, const void* b) noexcept {
  finish(to, append(append(to, take, a), take >> 21, b), where);
}
void compose(Slot* to, Where where, Take take, const void* a, const void* b, const void* c) noexcept {
  finish(to, append(append(append(to, take, a), take >> 21, b), take >> 42, c), where);
}
void compose(Slot* to, Where where, const OperandSlots* operands, unsigned count) noexcept {
  Slot* end = to;
  for (unsigned i = 0; i < count; ++i) end = append(end, operands[i].take, operands[i].slots);
  finish(to, end, where);
}

Slot make_fragment(const Parts& parts) try {
  auto fragment = std::make_unique<Fragment>();
  fragment->program = dsl::intern_program(parts.code, parts.size);
  fragment->slots.resize(parts.size);
  copy_slots(fragment->slots.data(), parts.slots, parts.size);
  return dsl::slot_of(fragment.release());
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("keep a subexpression");
}

}  // namespace kiln::detail
