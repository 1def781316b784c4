// codegen/ir/exponential_terms.h -- exponentials relative to the maximum of a row, and sums of them, by their
// structure.
#pragma once

#include "codegen/ir/graph.h"

namespace kiln::codegen {

/// The value of `type` whose maximum over the row node `id` is, whether reduced alone or as part of a log-sum-exp; else
/// no_node.
NodeId maximum_of(const Graph& graph, NodeId id, DType type = DType::f32);

/// True for exp(x - max(x)) in `type`. Its exponent is never positive: 0 where x is largest, NaN where x or the maximum
/// is one or both are infinities of the same sign.
bool is_exponential_term(const Graph& graph, NodeId id, DType type = DType::f32);

/// True if node `sum` is the sum of `term`, an exponential term, over the row.
bool is_sum_of_terms(const Graph& graph, NodeId sum, NodeId term, DType type = DType::f32);

}  // namespace kiln::codegen
