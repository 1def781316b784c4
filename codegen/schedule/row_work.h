// codegen/schedule/row_work.h -- what one call asks of the schedule of a reduction along rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/schedule/arithmetic.h"
#include "codegen/schedule/schedule.h"

namespace kiln::codegen {

struct RowWork {
  std::int64_t rows = 1, length = 0;
  bool chain = false;  ///< several passes over a row, or values per element that need its results
  int vector = 1;
  bool shifted = false;
  int registers = 1;       ///< of one thread, for the loads of one vector
  bool wide = false;       ///< functions of 8-byte elements, which take many registers themselves
  std::int64_t bytes = 0;  ///< loaded per element
  std::int64_t vectors() const { return ceil_divide(length + (shifted ? vector - 1 : 0), vector); }
};

RowWork work_of(const Kernel& kernel, const Extents& extents);

/// True for an operand whose elements along the last axis, and nothing else, lie side by side.
bool is_contiguous(const Kernel& kernel, const Access& access);

/// True for functions like exp of elements along the row that have `least` bytes or more.
bool has_functions(const Kernel& kernel, std::size_t least);

/// True where a pass joins states by a function of several numbers.
bool joins_states(const Kernel& kernel);

/// True for bodies whose values need few registers besides those of the loads.
bool is_light(const Kernel& kernel);

/// Per access: a load that such a kernel holds where rows are held. Others that all rows share and only results need
/// are read from the caches when their turn comes.
std::vector<char> held_accesses(const Kernel& kernel);

/// The widest operand that is held and lies contiguous along rows of its own: what shifted rows are aligned to.
std::optional<std::size_t> shift_anchor(const Kernel& kernel);

}  // namespace kiln::codegen
