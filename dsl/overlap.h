// dsl/overlap.h -- do two strided sets of bytes share one? By ranges first, then exactly, within a bound on the work.
#pragma once

#include <cstdint>

#include "dsl/shapes.h"

namespace kiln::dsl {

/// Elements of `bytes` bytes at `address + bytes * sum(index * stride)`; `view.offset` is already part of the address.
struct ByteSet {
  std::uint64_t address = 0;
  std::int64_t bytes = 1;
  Strided view;
};

/// May some byte belong to both? Never false when one does; true without proof only when the search gives up.
bool may_overlap(const ByteSet& a, const ByteSet& b);

/// True when both walk the same elements in the same order: equal addresses for every index.
bool same_elements(const ByteSet& a, const ByteSet& b);

/// May two different indices reach a common byte? (Stride 0, or windows that overlap.)
bool overlaps_itself(const ByteSet& a);

}  // namespace kiln::dsl
