// codegen/emit/cuda_select.h -- pairs of operations for which CUDA has a cheaper sequence of the same accuracy.
#pragma once

#include <string_view>
#include <vector>

#include "codegen/ir/graph.h"

namespace kiln::codegen::cuda {

/// A prelude function that computes a node from other operands than its own; empty name where there is none.
struct Selection {
  std::string_view function;
  std::vector<NodeId> operands;
};

/// 1 + erf(x) in f32 without the cancellation at negative x, and x / (1 + exp(y)) in f32 with a quotient good to 2 ulp
/// where every result is rounded to 16 bits (`narrow_results`). Both keep bf16 activations below the memory's speed.
Selection select(const Graph& graph, NodeId id, bool narrow_results);

/// True where every output is f16 or bf16.
bool has_narrow_results(const Graph& graph);

}  // namespace kiln::codegen::cuda
