// codegen/schedule/window.h -- stencils: what a thread reads once for several places and rows.
//
// A thread computes `vector` neighbours along the innermost axis in each of `items` rows that follow one another along
// the run axis. Accesses of one window read the same elements for different places; each element is read once, into a
// register.
#pragma once

#include <vector>

#include "codegen/ir/kernel.h"

namespace kiln::codegen {

/// The outermost axis along which the accesses of some window are displaced, the innermost apart; else the one before
/// the innermost. -1 for rank 1.
int run_axis(const Kernel& kernel);

/// Elements of one window that differ only along the run axis and the innermost one.
struct WindowPlane {
  std::vector<std::int8_t> at;                                 ///< displacement along the other axes; 0 along those two
  int first_row = 0, rows = 0, first_column = 0, columns = 0;  ///< relative to the first row and column of a thread
  std::vector<std::size_t> members;                            ///< accesses
  std::vector<char> needed;                                    ///< rows x columns: read at all
  bool is_needed(int row) const {
    for (int column = first_column; column < first_column + columns; ++column)
      if (is_needed(row, column)) return true;
    return false;
  }
  bool is_needed(int row, int column) const {
    return needed[static_cast<std::size_t>((row - first_row) * columns + column - first_column)] != 0;
  }
};

struct Window {
  std::size_t leader = 0;  ///< the access that has the arguments
  std::vector<WindowPlane> planes;
};
/// In the order of their leaders; for threads that compute `rows` x `vector` elements.
std::vector<Window> windows_of(const Kernel& kernel, int rows, int vector);

/// Displacement of an access along an axis; 0 outside windows.
int displacement_of(const Access& access, int axis);

}  // namespace kiln::codegen
