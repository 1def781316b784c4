// dsl/recorder.h -- one trace: the graph that the bridge's record_* functions build while a user's expression runs.
#pragma once

#include <vector>

#include <kiln/repeat.h>

#include "codegen/ir/graph.h"

namespace kiln::detail {

class Recorder {
 public:
  /// `input_ranks[i]` is the rank of the call's input `i`; `scalar_count` bounds the slots of parameters.
  Recorder(std::vector<int> input_ranks, unsigned scalar_count, Where call = {})
      : input_ranks_(std::move(input_ranks)), scalar_count_(scalar_count), call_(call) {}
  /// The place of the call whose trace this is; none where the call has none.
  Where call() const { return call_; }

  /// One more input or scalar of the call, where they are not known beforehand; their slots.
  unsigned append_input(int rank) {
    input_ranks_.push_back(rank);
    return static_cast<unsigned>(input_ranks_.size() - 1);
  }
  unsigned append_scalar() { return scalar_count_++; }

  NodeId input(unsigned slot, DType type);
  NodeId iota(unsigned slot);
  NodeId parameter(unsigned slot, DType type);
  NodeId literal(DType type, std::uint64_t low_bits, std::uint64_t high_bits, Where where);
  NodeId operation(Op op, DType result, const NodeId* operands, unsigned count, Where where);
  NodeId cast(NodeId value, DType type, Where where);
  NodeId index(NodeId value, int axis, Where where);
  NodeId call(const codegen::Function& function, const NodeId* operands, unsigned count, Where where);
  NodeId random(NodeId counter, NodeId key, bool normal, DType type, Where where);
  NodeId view(NodeId value, int kind, const std::int64_t* numbers, unsigned count, Where where,
              const NodeId* fill = nullptr);
  NodeId reduction(const ReductionCall& call, DType result, const NodeId* operands, unsigned count, Where where);
  NodeId tuple(const NodeId* values, unsigned count, Where where);
  NodeId component(NodeId tuple, unsigned component, Where where);
  NodeId take(const TakeCall& call, NodeId source, NodeId indices, Where where);
  NodeId item_take(const TakeCall& call, NodeId source, NodeId indices, Where where);

  NodeId inlined(const codegen::Graph& combiner, std::initializer_list<NodeId> values);

  int rank(NodeId value) const { return ranks_[value]; }

  // recorder_loops.cpp: functions written for one item, applied over leading loop axes that they do not see. While
  // `loop_rank()` is n, every value has n axes of the loop in front, or no axes at all.
  int loop_rank() const { return loop_rank_; }
  void set_loop_rank(int rank) { loop_rank_ = rank; }
  int item_rank(NodeId value) const { return ranks_[value] > loop_rank_ ? ranks_[value] - loop_rank_ : 0; }
  /// Gives `values`, of so many item axes each, the same number of loop axes and returns it.
  int enter_loops(NodeId* values, const int* item_ranks, unsigned count, Where where);
  NodeId item_view(NodeId value, int kind, const std::int64_t* numbers, unsigned count, Where where,
                   const NodeId* fill = nullptr);
  NodeId item_index(NodeId value, int axis, Where where);
  /// The extent of an item's axis; of all_axes the number of its elements.
  NodeId item_extent(NodeId value, int axis, Where where);

  // recorder_repeat.cpp: loops inside of kernels.
  /// A state of a loop, as its body sees it: an input that no call has.
  NodeId loop_state(DType type, int rank);
  NodeId complex(DType type, NodeId real, NodeId imaginary, Where where);
  void repeat(const Repetition& repetition, NodeId* results, Where where);
  /// True once loops were recorded: the graph then holds nodes of their bodies, which no output needs.
  bool has_loops() const { return loop_states_ > 0; }
  NodeId unrounded(NodeId value, DType type, Where where);

  const codegen::Graph& graph() const { return graph_; }
  /// The finished trace; the recorder is empty afterwards.
  codegen::Graph take() { return std::move(graph_); }

 private:
  /// A reduction as the user called it, its axes resolved for the operand's rank.
  struct Reduced {
    Reducing function;
    const char* name;
    Where where;
    NodeId value;
    std::uint8_t axes = 0;
    bool keepdims = false;
  };
  NodeId add(const codegen::Node& node, int rank, Where where);
  Reduced resolve(const ReductionCall& call, NodeId value, Where where);
  NodeId compose(const Reduced& r, DType result, std::int64_t ddof);
  NodeId mean(const Reduced& r, NodeId value, DType result);
  NodeId variance(const Reduced& r, DType result, std::int64_t ddof);
  NodeId norm(const Reduced& r, NodeId value);
  NodeId extreme(const Reduced& r, codegen::Reduction kind, NodeId value);
  NodeId position(const Reduced& r, codegen::Reduction kind, NodeId value);
  NodeId truth(NodeId value, Where where);
  NodeId combine(const Reduced& r, const ReductionCall& call, NodeId identity);
  NodeId combine_some(const Reduced& r, const ReductionCall& call);
  NodeId reduce(const Reduced& r, codegen::Reduction kind, NodeId value);
  NodeId append(const Reduced& r, const codegen::ReductionSpec& spec, DType type,
                std::initializer_list<NodeId> operands);
  NodeId extent(const Reduced& r, NodeId value, DType type, std::uint8_t axes, std::int64_t subtract);
  NodeId in_front(NodeId value, Where where);
  NodeId known(NodeId id, int rank);
  NodeId with_loops(NodeId value, Where where);
  NodeId with_axes(NodeId value, int first, int count, Where where);
  void align(NodeId* operands, unsigned count, Where where);
  NodeId widen(NodeId value, DType type, Where where);
  void check_node(NodeId value, const char* operation, Where where) const;

  codegen::Graph graph_;
  std::vector<int> ranks_;  ///< one per node
  std::vector<int> input_ranks_;
  unsigned scalar_count_;
  Where call_;
  int loop_rank_ = 0;
  std::uint64_t loop_states_ = 0;
};

}  // namespace kiln::detail
