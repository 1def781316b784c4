// codegen/pass/integer_range.h -- intervals that contain every value of an integer node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/ir/graph.h"
#include "codegen/pass/passes.h"

namespace kiln::codegen {

/// Values from `low` to `high`, both included.
struct IntegerRange {
  std::int64_t low = 0, high = 0;

  bool within(const IntegerRange& outer) const { return outer.low <= low && high <= outer.high; }
  bool contains(std::int64_t value) const { return low <= value && value <= high; }
  bool is_non_negative() const { return low >= 0; }
  friend bool operator==(const IntegerRange&, const IntegerRange&) = default;
};

/// Nothing: a u64 that may exceed the largest i64, or a value that is no integer.
using MaybeRange = std::optional<IntegerRange>;

/// Every value of an integer type or b1.
MaybeRange range_of_type(DType type);

/// One range per node of a legalised body whose operands precede their users.
std::vector<MaybeRange> integer_ranges(const Graph& graph, const PassOptions& options);

/// The value that the comparison `op` has for all operands in these ranges, if it is one.
std::optional<bool> decided(Op op, const IntegerRange& x, const IntegerRange& y);

}  // namespace kiln::codegen
