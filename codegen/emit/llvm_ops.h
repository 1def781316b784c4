// codegen/emit/llvm_ops.h -- prints the nodes of a legalised body as vector instructions.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "codegen/emit/llvm_access.h"
#include "codegen/emit/llvm_math.h"
#include "codegen/ir/graph.h"

namespace kiln::codegen {

/// Values of the leaves, by access and parameter.
struct BodyInputs {
  std::span<const Parts> accesses = {};    ///< storage form; iota: the i64 vector
  std::span<const Parts> parameters = {};  ///< storage form (b1: i8)
  std::span<const IrValue> states = {};    ///< combiners: the `input` leaves (b1: i1)
};

class BodyPrinter {
 public:
  BodyPrinter(IrBuilder& builder, MathLibrary& library, const Graph& body, bool contract);
  /// Prints every node; returns, for each output, what its store access writes (storage form).
  std::vector<Parts> print(const BodyInputs& inputs, std::span<const DType> output_types);
  /// Prints the given nodes, whose other operands have values already. For bodies in several parts.
  /// A product is fused with a sum of the same call; `goes_on`: this is the same call as the one before it.
  void compute(std::span<const NodeId> nodes, const BodyInputs& inputs, bool goes_on = false);
  /// What gather nodes read; the states get their base addresses later.
  void set_memory(std::span<const AccessState> states) { memory_ = states; }
  /// The lanes that hold elements from here on: the first `count` (i64 text), all when empty. The user's functions are
  /// called on these only.
  void set_count(std::string count) { count_ = std::move(count); }
  const Parts& value(NodeId id) const { return values_[id]; }
  void set_value(NodeId id, Parts parts) { values_[id] = std::move(parts); }
  /// The value of a node that print() is not to print.
  void set_fixed(NodeId id, Parts parts) {
    values_[id] = std::move(parts);
    fixed_[id] = 1;
  }
  /// What the store access of output `k`, of this type, writes.
  Parts output(std::size_t k, DType type);

 private:
  Parts print_node(const Node& node, const BodyInputs& inputs);
  Parts print_gather(const Node& node);
  Parts print_loop(const Function& function, const std::vector<Parts>& operands);
  IrValue print_cast(const IrValue& value, DType from, DType to);
  IrValue print_operation(const Node& node);
  IrValue print_float(const Node& node, std::span<const IrValue> operands);
  IrValue print_integer(const Node& node, DType type, std::span<const IrValue> operands);
  IrValue print_comparison(Op op, DType type, const IrValue& a, const IrValue& b);
  IrValue call_math(const char* name, std::span<const IrValue> operands);
  IrValue libm_lanes(const char* name, std::span<const IrValue> operands);
  /// add or sub whose operand is a product that nothing else uses: one fused operation, or nothing.
  bool fuse(const Node& node, IrValue& result);

  IrBuilder& b_;
  MathLibrary& library_;
  const Graph& body_;
  bool contract_;
  std::span<const AccessState> memory_;
  std::vector<Parts> values_;
  std::vector<int> uses_;
  std::vector<char> fixed_;         ///< per node: its value was given
  std::vector<unsigned> computed_;  ///< per node: the call of compute() that printed it
  unsigned call_ = 0;
  std::string count_;
  std::map<std::string, std::vector<IrValue>> loops_;  ///< states after loops, by block and call
};

}  // namespace kiln::codegen
