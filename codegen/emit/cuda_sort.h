// codegen/emit/cuda_sort.h -- kernels that sort updates by key and join runs of equal keys in a fixed order.
//
// A counting sort by digits of 8 bits, lowest first: `count` counts the digits of each tile, a running sum over digits
// and tiles (in that order) gives where each starts, `move` puts keys and numbers there, equal digits in their order.
// `join` walks chunks of the sorted keys: a run inside a chunk joins the target; the first and the last run may go on
// in neighbours, and become entries of the next level, which is sorted as well and treated alike, until one chunk is
// left.
#pragma once

#include <kiln/dtype.h>

#include "support/kernel.h"

namespace kiln::codegen {

inline constexpr int sort_digits = 256;  ///< values of a digit
inline constexpr int sort_block = 256;   ///< threads
inline constexpr int sort_tile = 4096;   ///< keys of one block
inline constexpr int join_chunk = 64;    ///< entries of one level that one entry of the next stands for, twice

/// Arguments of all kernels, as these are printed; those that a kernel does not take are null.
struct SortArguments {
  const void* keys = nullptr;     ///< i32
  const void* numbers = nullptr;  ///< u32 place of each key's update; null: its own place
  void* sorted_keys = nullptr;
  void* sorted_numbers = nullptr;
  void* counts = nullptr;  ///< `count`: u32 [digit][tile]; `move`: u64 running sums of them, each with its own
  const void* values = nullptr;
  void* target = nullptr;
  void* next_keys = nullptr;  ///< `join`: of the next level, two per chunk
  void* next_values = nullptr;
  long long count = 0, tiles = 0, bins = 0, outer = 1, inner = 1;
  int shift = 0;
  int one_value = 0;  ///< `values` is a single element
  int by_number = 0;  ///< values are found by numbers (outer, count of updates, inner); else they lie (entry, column)
  int unused = 0;
  long long updates = 0;  ///< count of updates
};

KernelSource emit_sort_count();
KernelSource emit_sort_move();
/// `type` of the target, a floating or complex one. Updates are of compute_type(type); sums and the values of later
/// levels are f64 (complex: two).
KernelSource emit_join_runs(DType type);

}  // namespace kiln::codegen
