// codegen/pass/combiners.h -- what joins the states of the reductions that lower_reductions gives a state.
#pragma once

#include "codegen/ir/graph.h"

namespace kiln::codegen {

/// State (value, position): the first NaN, or else the first of the largest (argmax) or smallest values.
Graph position_combiner(Reduction kind, DType value, DType position);

/// State (maximum, sum of exp(x - maximum)).
Graph logsumexp_combiner(DType type);

/// State (count, mean, sum of squared deviations from the mean): Chan, Golub and LeVeque's update. Only ratios of
/// counts matter, so counts may be rounded; but one element no longer changes an f32 count of 2^24.
Graph deviations_combiner(DType type);

}  // namespace kiln::codegen
