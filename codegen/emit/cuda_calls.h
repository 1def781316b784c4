// codegen/emit/cuda_calls.h -- the functions that a large CUDA kernel calls instead of inlining them.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "codegen/emit/cuda_prelude.h"
#include "codegen/ir/graph.h"

namespace kiln::codegen::cuda {

/// ptxas takes time that grows with the square of the branches in a kernel: 500 inlined sines take it 52 s, 500 calls
/// of one function 0.2 s. An operation that a body holds more often than its length allows is therefore printed as a
/// call of a function that is not inlined.
class Calls {
 public:
  /// `copies`: how often the loops around the body are unrolled.
  Calls(const Graph& body, int copies);

  /// The call that computes `node`, "" where it is printed in place. A function called for the first time is added to
  /// `definitions`.
  std::string text(const Graph& graph, NodeId id, std::span<const std::string> operands, std::span<const DType> types,
                   Prelude& prelude, std::string& definitions);

 private:
  static std::uint32_t key_of(const Node& node);
  std::unordered_set<std::uint32_t> called_;
  std::unordered_map<std::uint32_t, std::string> names_;  ///< of those that are defined
};

/// How many copies of an operation a kernel may inline; 0 for operations of a few instructions, which have no limit.
int inlined_limit(const Graph& graph, NodeId id);

}  // namespace kiln::codegen::cuda
