// codegen/schedule/vector_width.h -- what every schedule asks when it chooses how many elements move at once.
#pragma once

#include <algorithm>
#include <cstddef>

#include "codegen/ir/kernel.h"

namespace kiln::codegen {

/// Bytes of an element; of an iota that finds elements, theirs.
inline std::size_t element_bytes(const Access& access) {
  return access.gathers > 0 ? access.gathers : size_of(access.type);
}

/// Bytes of the widest element among the operands that `moves` picks; at least 1.
template <class Moves>
std::size_t widest_element(const Kernel& kernel, const Moves& moves) {
  std::size_t widest = 1;
  for (const Access& access : kernel.accesses) {
    if (moves(access)) widest = std::max(widest, element_bytes(access));
  }
  return widest;
}

/// True if more than half of the bytes of the operands that `moves` picks belong to operands whose vectors move as a
/// whole.
template <class Moves, class Whole>
bool most_bytes_move_whole(const Kernel& kernel, const Moves& moves, const Whole& is_whole) {
  std::size_t total = 0, whole = 0;
  for (const Access& access : kernel.accesses) {
    if (!moves(access)) continue;
    total += element_bytes(access);
    if (is_whole(access)) whole += element_bytes(access);
  }
  return 2 * whole > total;
}

}  // namespace kiln::codegen
