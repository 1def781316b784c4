// dsl/traffic.h -- bytes that a kernel moves: of its operands once, and of rows that it goes over several times.
#pragma once

#include <cstdint>

#include "dsl/draft.h"

namespace kiln::dsl {

/// Of one access, each element once.
std::int64_t bytes_touched(const DraftKernel& draft, std::size_t access);

/// What a kernel that does not hold its rows reads more than once.
struct Rereads {
  std::int64_t bytes = 0;      ///< of all reads after the first ones
  std::int64_t in_flight = 0;  ///< of the rows that are worked on at the same time
  std::int64_t cache = 0;      ///< of the L2 cache: of the card, or of one core
  /// True where the caches cannot keep the rows until they are read again.
  bool may_reach_memory() const { return bytes > 0 && in_flight > cache; }
};

/// `occupancy`: the share of the threads of a multiprocessor that are resident; < 0 where it is unknown.
Rereads rereads_of(const DraftKernel& draft, const codegen::DeviceTraits& traits, double occupancy);

}  // namespace kiln::dsl
