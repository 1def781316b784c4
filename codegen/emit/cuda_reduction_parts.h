// codegen/emit/cuda_reduction_parts.h -- what all forms of CUDA reductions share: states, joins, values by level.
//
// The reductions of one pass travel together in one struct, State<pass>, with one field per component: s<reduction> or
// s<reduction>_<component>. Printed for each: join(a, b), shuffle(s, mask), and for running states accumulate
// and total, which keep sums of floats within rounding of the exact ones. Prelude templates (tree, join_lanes,
// join_block, join_blocks) work on any of them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "codegen/emit/cuda_writer.h"
#include "codegen/ir/reduction.h"
#include "codegen/ir/stages.h"

namespace kiln::codegen::cuda {

/// "s2" or "s2_1": the field of component `c` of reduction `r`.
std::string state_field(const Monoid& monoid, std::size_t r, std::size_t c);

/// Unsigned integers that fill a state of `bytes` bytes up to `alignment`; their sizes are added to `bytes`.
std::vector<DType> state_gap(std::size_t& bytes, std::size_t alignment);

/// (count, mean, sum of squared deviations) of floats, for which there are joins of their own.
bool is_f32_deviations(const Monoid& monoid);

class ReductionWriter : public Writer {
 public:
  ReductionWriter(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options);

 protected:
  /// The place of access `a`: what stands for a load, an iota (i64) or a store.
  using Place = std::function<std::string(std::size_t)>;

  std::size_t passes_count() const { return monoids_.size(); }
  static std::string state_type(std::size_t pass) { return fmt::format("State{}", pass); }

  /// The struct of states of `monoids`, called `type`, and its functions, into definitions_; unused functions would
  /// draw warnings.
  enum class Running : std::uint8_t { none, totals, batches };  ///< of accumulate and total: total alone, or both
  void declare_state(const std::string& type, std::span<const Monoid> monoids, bool shuffles, Running running);
  /// That of every pass.
  void declare_states(bool shuffles = true, Running running = Running::batches);
  /// What the second part of a running state of `pass` starts from.
  std::string nothing_lost(std::size_t pass) const;

  /// Declares the number of this block where blocks may stand in layers; `divisor`: so many of them work on one row,
  /// and those beyond the last row return; 0: those have something to do.
  void declare_block(int divisor);
  /// "blockIdx.x", or what declare_block declared.
  const char* block_text() const { return schedule_.layers ? "block" : "blockIdx.x"; }
  /// The same in the type of indices.
  std::string block_index() const {
    return kernel_.index == IndexWidth::bits64 && !schedule_.layers ? "u64(blockIdx.x)" : block_text();
  }
  /// The product of the kept extents.
  std::string rows_text() const;

  /// Component values of the reductions of `pass`: what an element contributes.
  std::vector<NodeId> operands(std::size_t pass) const;
  /// Outputs stored per element or per row. `values`: of an output that is rounded on its way to memory (rounds()), the
  /// value before that.
  std::vector<std::size_t> stores(bool per_element) const;
  NodeId stored_value(std::size_t a) const;

  /// Declares, in the current scope, the values of the row that `roots` need and that are not declared yet. Their
  /// reductions must have been named.
  void row_values(std::span<const NodeId> roots, const Place& place);
  /// Declares the values of one element below `roots`; row_values(roots) must stand before, in an outer scope.
  void element_values(std::span<const NodeId> roots, const Place& place);
  /// How the form computes node `id` of an element in its own way, or "".
  virtual std::string special_text(NodeId) { return ""; }
  /// What of operands() an element contributes to a batch of `size` states. Among several, squared deviations find
  /// infinities and NaN themselves.
  std::vector<NodeId> batch_operands(std::size_t pass, int size) const;
  /// "State0{v4, v7}" of the current element, one of `batch`; "State0{...}" that is neutral.
  std::string element_state(std::size_t pass, int batch = 1) const;
  std::string identity(std::size_t pass) const;
  /// From here on the reductions of `pass` are the fields of `variable`.
  void name_results(std::size_t pass, const std::string& variable);
  const std::string& name(NodeId id) const { return names_[id]; }

  Stages stages_;
  std::vector<std::vector<Monoid>> monoids_;  ///< of each pass, in the order of stages_.passes

  /// Nodes that `roots` need and that have no name which stays.
  std::vector<char> below(std::span<const NodeId> roots) const;

  std::vector<std::string> names_;   ///< of nodes, "" if not declared
  std::vector<std::string> locals_;  ///< the name that a node gets where it is declared

 private:
  void print_join(const std::string& type, std::span<const Monoid> monoids);
  void print_shuffle(const std::string& type, std::span<const Monoid> monoids);
  void print_accumulate(const std::string& type, std::span<const Monoid> monoids);
  void print_total(const std::string& type, std::span<const Monoid> monoids);
  void print_tree(const std::string& type, std::span<const Monoid> monoids);
};

}  // namespace kiln::codegen::cuda
