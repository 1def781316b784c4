// codegen/schedule/partition.h -- where a long elementwise body is cut into several kernels, and in which order its
// values are computed.
//
// A kernel that holds more values at a time than a thread has registers keeps them in local memory, and compilers take
// more than linear time over it; one of very many operations or operands does the latter too. Such a body is cut where
// the fewest bytes cross. The measure of registers is the liveness of values in the order in which they are computed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codegen/ir/graph.h"
#include "codegen/schedule/schedule.h"

namespace kiln::codegen {

/// What one kernel may hold.
struct PartitionLimits {
  int registers = 0;       ///< of 32 bits, for values that are needed later: a body that needs no more stays whole
  int part_registers = 0;  ///< the same for the parts of a body that is cut
  std::int64_t cost = 0;   ///< operations; long functions and calls count for several
  std::int64_t accesses = 0;
  std::int64_t argument_bytes = 0;
};
PartitionLimits partition_limits(const DeviceTraits& device);

/// Upper bounds of the bytes that accesses and parameters take in the argument block.
struct ArgumentBytes {
  std::vector<std::int64_t> accesses;    ///< by access of the body
  std::vector<std::int64_t> parameters;  ///< by parameter
  std::int64_t store = 0;                ///< of an output or of what is stored between kernels
  std::int64_t fixed = 0;                ///< of every kernel
};

struct Partition {
  /// What the body would need as a whole.
  int registers = 0;
  std::int64_t cost = 0, accesses = 0, argument_bytes = 0;
  /// Nodes of each kernel in the order in which they are computed. Leaves, and what is cheaper to compute again than to
  /// read, are not among them unless they are outputs.
  std::vector<std::vector<NodeId>> parts;
  /// Why there is more than one part, in words; empty otherwise.
  std::string reason;
  /// One part, in an order that needs far fewer registers than that of the body's own numbers.
  bool reorders = false;
  std::size_t visits = 0;  ///< steps of all scans, for tests of their number
};

/// `body` is legalised and has no reductions.
Partition partition(const Graph& body, const ArgumentBytes& bytes, const PartitionLimits& limits);

}  // namespace kiln::codegen
