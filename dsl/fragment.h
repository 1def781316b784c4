// dsl/fragment.h -- shared subexpressions (kl::let) and the references that expression slots hold.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <kiln/detail/program.h>

namespace kiln::detail {

/// Heap copy of an expression. `program` is interned: fragments of equal structure have equal addresses there.
struct Fragment {
  long references = 1;  ///< atomic
  const std::vector<Instruction>* program = nullptr;
  std::vector<Slot> slots;            ///< each holds a reference, one per instruction
  std::shared_ptr<const void> keeps;  ///< what a structure slot points to; then there is no program
  Fragment* next_dead = nullptr;      ///< of those that end together: without memory they end, too
};

}  // namespace kiln::detail

namespace kiln::dsl {

inline bool is_fragment(const detail::Slot& slot) { return (reinterpret_cast<std::uintptr_t>(slot.owner) & 1) != 0; }
inline detail::Fragment* fragment_of(const detail::Slot& slot) {
  return reinterpret_cast<detail::Fragment*>(reinterpret_cast<std::uintptr_t>(slot.owner) - 1);
}
/// A slot that takes over a reference to `fragment`.
inline detail::Slot slot_of(detail::Fragment* fragment) {
  return {reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(fragment) + 1), {0, 0}};
}
inline detail::Handle handle_of(const detail::Slot& slot) { return __builtin_bit_cast(detail::Handle, slot); }
inline bool is_operand(detail::Instruction::Kind kind) {
  return kind == detail::Instruction::input || kind == detail::Instruction::iota;
}
inline detail::Where where_of(const detail::Slot& slot) {
  return {reinterpret_cast<const char*>(slot.words[0]), static_cast<unsigned>(slot.words[1])};
}

/// The library's own copy of a program: one address per content, never freed.
const std::vector<detail::Instruction>* intern_program(const detail::Instruction* code, unsigned size);

/// The distinct fragments below `parts`, in the order in which a walk meets them.
std::vector<detail::Fragment*> fragments_below(const detail::Parts* parts, unsigned count);

}  // namespace kiln::dsl
