// dsl/recorder.h -- one trace: the graph that the bridge's record_* functions build while a user's expression runs.
#pragma once

#include <vector>

#include <kiln/detail/bridge.h>

#include "codegen/ir/graph.h"

namespace kiln::detail {

class Recorder {
 public:
  /// `input_ranks[i]` is the rank of the call's input `i`; `scalar_count` bounds the slots of parameters.
  Recorder(std::vector<int> input_ranks, unsigned scalar_count)
      : input_ranks_(std::move(input_ranks)), scalar_count_(scalar_count) {}

  NodeId input(unsigned slot, DType type);
  NodeId iota(unsigned slot);
  NodeId parameter(unsigned slot, DType type);
  NodeId literal(DType type, std::uint64_t low_bits, std::uint64_t high_bits, Where where);
  NodeId operation(Op op, DType result, const NodeId* operands, unsigned count, Where where);
  NodeId cast(NodeId value, DType type, Where where);
  NodeId index(NodeId value, int axis, Where where);
  NodeId random(NodeId counter, NodeId key, bool normal, DType type, Where where);
  NodeId view(NodeId value, int kind, const std::int64_t* numbers, unsigned count, Where where);

  int rank(NodeId value) const { return ranks_[value]; }
  const codegen::Graph& graph() const { return graph_; }
  /// The finished trace; the recorder is empty afterwards.
  codegen::Graph take() { return std::move(graph_); }

 private:
  NodeId add(const codegen::Node& node, int rank, Where where);
  NodeId widen(NodeId value, DType type, Where where);
  void check_node(NodeId value, const char* operation, Where where) const;

  codegen::Graph graph_;
  std::vector<int> ranks_;  ///< one per node
  std::vector<int> input_ranks_;
  unsigned scalar_count_;
};

}  // namespace kiln::detail
