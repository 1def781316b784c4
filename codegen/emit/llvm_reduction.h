// codegen/emit/llvm_reduction.h -- CPU kernels with reduced axes: the parts that rows and columns share.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codegen/emit/llvm_kernel.h"
#include "codegen/emit/llvm_loops.h"
#include "codegen/emit/llvm_ops.h"
#include "codegen/emit/llvm_state.h"
#include "codegen/ir/stages.h"
#include "codegen/schedule/cpu_reduction.h"

namespace kiln::codegen {

/// Text of the module of a kernel with reduced axes.
std::string print_reduction(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options,
                            const std::string& entry);

class ReductionPrinter : public KernelFrame {
 public:
  ReductionPrinter(const Kernel& described, Template form, const EmitOptions& chosen);
  ReductionPrinter(const ReductionPrinter&) = delete;
  ReductionPrinter& operator=(const ReductionPrinter&) = delete;

 protected:
  std::size_t kept() const { return static_cast<std::size_t>(kernel.rank - kernel.reduced); }
  std::size_t rank() const { return static_cast<std::size_t>(kernel.rank); }
  bool per_element(NodeId id) const { return stages_.per_element[id] != 0; }
  bool is_store_per_element(std::size_t k) const {
    return is_per_element(kernel, kernel.accesses[kernel.first_store() + k]);
  }
  DType output_type(std::size_t k) const { return kernel.accesses[kernel.first_store() + k].type; }
  ReductionState& state_of(NodeId id) { return *reductions_[id]; }
  /// Nodes that the roots need and that `available` does not hold already, operands first.
  std::vector<NodeId> needed(const std::vector<NodeId>& roots, const std::function<bool(NodeId)>& available) const;
  std::vector<NodeId> outputs(bool of_elements) const;
  /// `starts` moved by coordinates along the axes from `first` on.
  std::vector<std::string> moved(const std::vector<std::string>& starts, std::size_t first,
                                 const std::vector<std::string>& coordinates);
  std::vector<std::string> base_addresses() const;
  void set_rows(const std::vector<std::string>& addresses);
  using Vector = std::function<void(const std::string& i, const IrValue* mask)>;
  /// Runs `each(i, mask)` over whole vectors of [from, to), then with a mask over what is left; null = all lanes.
  void for_vectors(const std::string& from, const std::string& to, const Vector& each);
  /// The same, but first `batch(i)` as long as `vectors` whole vectors are left.
  void for_batches(const std::string& from, const std::string& to, int vectors,
                   const std::function<void(const std::string& i)>& batch, const Vector& each);
  using Piece = std::function<void(const std::string& first, const std::string& last)>;
  /// Runs `piece` for parts of [first, last) of `step` and `settle` behind each, where `joined` keep corrections.
  void for_pieces(const std::string& first, const std::string& last, std::int64_t step,
                  const std::vector<NodeId>& joined, const Piece& piece, const std::function<void()>& settle);
  /// Stores the outputs per element or per row at the columns i...
  void store_outputs(bool of_elements, const std::string& i, const IrValue* mask);
  /// Loads for the given nodes what changes along the vector axis; broadcasts are loaded by load_broadcasts.
  void load_vectors(const std::vector<NodeId>& nodes, const std::string& i, const IrValue* mask);
  void load_broadcasts(const std::vector<NodeId>& nodes);
  void compute(const std::vector<NodeId>& nodes, bool goes_on = false) {
    body_.compute(nodes, {values_, parameters, {}}, goes_on);
  }
  /// [begin, end) is empty: nothing to do.
  void print_start();
  /// Address of a component of the state in slot `number` of the workspace.
  std::string slot(const std::string& number, std::size_t component);
  std::string finish(const std::string& entry);

  /// Vectors (columns: lines) that are joined in a tree before they meet the accumulators.
  int batch_ = 1;
  Stages stages_;
  CpuReduction form_;
  BodyPrinter body_;
  std::vector<std::unique_ptr<ReductionState>> reductions_;  ///< by node
  std::vector<Parts> values_;                                ///< per access
  std::string slots_;                                        ///< how many the workspace holds
};

std::string print_row_reduction(const Kernel& kernel, const EmitOptions& options, const std::string& entry);
std::string print_column_reduction(const Kernel& kernel, const EmitOptions& options, const std::string& entry);

}  // namespace kiln::codegen
