// dsl/splitting.cpp -- copies the parts of a long body into bodies of their own.
#include "dsl/splitting.h"

#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include "codegen/schedule/value_order.h"

namespace kiln::dsl {
namespace {

using codegen::Node;
using codegen::NodeId;
using codegen::NodeKind;

constexpr std::int64_t word = 8;  ///< a pointer, or a number of the wider index type

codegen::ArgumentBytes argument_bytes(const Segment& segment) {
  codegen::ArgumentBytes bytes;
  const auto rank = static_cast<std::int64_t>(segment.loop.rank);
  for (const Leaf& leaf : segment.body.leaves) {
    std::int64_t total = word;
    for (int axis = 0; axis < segment.loop.rank; ++axis) {
      const std::int64_t stride = leaf.view.strides[axis];
      if (stride != 0 && stride != 1) total += word;
      if (leaf.folds[static_cast<std::size_t>(axis)].is_active()) total += 4 * word;
    }
    bytes.accesses.push_back(total);
  }
  for (const Parameter& parameter : segment.body.parameters)
    bytes.parameters.push_back(static_cast<std::int64_t>(size_of(compute_type(parameter.type))));
  bytes.store = word * std::max<std::int64_t>(1, rank);
  bytes.fixed = word * std::max<std::int64_t>(1, 2 * rank - 1);
  return bytes;
}

/// Builds the bodies of the parts, one after another.
class Splitter {
 public:
  Splitter(const Segment& whole, std::vector<Temporary>& temporaries)
      : whole_(whole),
        temporaries_(temporaries),
        recomputed_(codegen::recomputed_nodes(whole.body.graph)),
        part_of_(whole.body.graph.size(), -1),
        is_needed_later_(whole.body.graph.size(), 0) {}

  std::vector<Segment> run(const std::vector<std::vector<NodeId>>& parts);
  std::size_t stored() const { return number_.size(); }
  std::int64_t stored_bytes() const { return stored_bytes_; }

 private:
  void find_needs(const std::vector<std::vector<NodeId>>& parts);
  Segment build(const std::vector<NodeId>& values, int part);
  NodeId copy(Segment& part, NodeId id, int number);
  NodeId leaf_of(Segment& part, NodeId id, int number);

  const Segment& whole_;
  std::vector<Temporary>& temporaries_;
  std::vector<char> recomputed_;
  std::vector<int> part_of_;                          ///< per node: the kernel that computes it; -1: those that need it
  std::vector<char> is_needed_later_;                 ///< per node: by a later kernel
  std::unordered_map<NodeId, std::uint32_t> number_;  ///< temporaries of the values that are
  std::int64_t stored_bytes_ = 0;                     ///< per element
  // Of the kernel that is built:
  std::unordered_map<NodeId, NodeId> renamed_;
  std::unordered_map<std::uint64_t, std::size_t> leaves_, parameters_;
};

void Splitter::find_needs(const std::vector<std::vector<NodeId>>& parts) {
  const codegen::Graph& graph = whole_.body.graph;
  for (std::size_t p = 0; p < parts.size(); ++p)
    for (const NodeId id : parts[p]) part_of_[id] = static_cast<int>(p);
  for (NodeId id = 0; id < graph.size(); ++id)
    for (const NodeId operand : graph[id].inputs())
      if (!recomputed_[operand] && part_of_[id] > part_of_[operand]) is_needed_later_[operand] = 1;
}

/// The load of a value that an earlier kernel has stored, or the leaf `id` of the whole body.
NodeId Splitter::leaf_of(Segment& part, NodeId id, int number) {
  const Node& node = whole_.body.graph[id];
  if (!recomputed_[id] && part_of_[id] != number) {
    Leaf leaf;
    leaf.type = node.type;
    leaf.view = contiguous("temporary", whole_.loop, {});
    leaf.temporary = static_cast<int>(number_.at(id));
    part.body.leaves.push_back(leaf);
    return part.body.graph.load(part.body.leaves.size() - 1, node.type);
  }
  Node copy = node;
  if (node.kind == NodeKind::parameter) {
    const auto [known, inserted] = parameters_.try_emplace(node.payload, part.body.parameters.size());
    if (inserted) part.body.parameters.push_back(whole_.body.parameters[node.payload]);
    copy.payload = known->second;
  } else if (node.kind == NodeKind::load || node.kind == NodeKind::iota || node.kind == NodeKind::gather) {
    const auto [known, inserted] = leaves_.try_emplace(node.payload, part.body.leaves.size());
    if (inserted) part.body.leaves.push_back(whole_.body.leaves[node.payload]);
    copy.payload = known->second;
  }
  for (std::size_t i = 0; i < copy.arity; ++i) copy.operands[i] = renamed_.at(copy.operands[i]);
  return part.body.graph.adopt(whole_.body.graph, copy, whole_.body.graph.location(id));
}

/// Copies `id` and what it needs. What is copied along is a few nodes deep.
NodeId Splitter::copy(Segment& part, NodeId id, int number) {
  std::vector<NodeId> pending{id};
  while (!pending.empty()) {
    const NodeId top = pending.back();
    bool ready = true;
    const bool is_read = !recomputed_[top] && part_of_[top] != number;
    for (const NodeId operand : whole_.body.graph[top].inputs()) {
      if (is_read || renamed_.contains(operand)) continue;
      pending.push_back(operand);
      ready = false;
    }
    if (!ready) continue;
    pending.pop_back();
    if (!renamed_.contains(top)) renamed_.emplace(top, leaf_of(part, top, number));
  }
  return renamed_.at(id);
}

Segment Splitter::build(const std::vector<NodeId>& values, int number) {
  renamed_.clear();
  leaves_.clear();
  parameters_.clear();
  Segment part;
  part.loop = whole_.loop;
  for (const NodeId id : values) copy(part, id, number);
  std::vector<NodeId>& outputs = part.body.graph.outputs;
  for (std::size_t k = 0; k < whole_.outputs.size(); ++k) {
    const NodeId output = whole_.body.graph.outputs[k];
    if (part_of_[output] != number) continue;
    part.outputs.push_back(whole_.outputs[k]);
    outputs.push_back(renamed_.at(output));
  }
  for (const NodeId id : values) {
    if (!is_needed_later_[id]) continue;
    SegmentOutput output;
    output.is_temporary = true;
    output.number = static_cast<std::uint32_t>(temporaries_.size());
    output.shape = whole_.loop;
    std::iota(output.axes.begin(), output.axes.end(), 0);
    part.outputs.push_back(output);
    outputs.push_back(renamed_.at(id));
    number_.emplace(id, output.number);
    const DType type = whole_.body.graph[id].type;
    temporaries_.push_back({type, whole_.loop});
    stored_bytes_ += static_cast<std::int64_t>(size_of(type));
  }
  return part;
}

std::vector<Segment> Splitter::run(const std::vector<std::vector<NodeId>>& parts) {
  find_needs(parts);
  std::vector<Segment> result;
  for (std::size_t p = 0; p < parts.size(); ++p) result.push_back(build(parts[p], static_cast<int>(p)));
  return result;
}

}  // namespace

std::vector<Segment> split(Segment segment, const codegen::PartitionLimits& limits, std::vector<Temporary>& temporaries,
                           std::vector<std::string>& notes) {
  std::vector<Segment> result;
  // So few nodes reach no limit, whatever they are.
  const auto nodes = static_cast<std::int64_t>(segment.body.graph.size());
  const bool is_short = 2 * nodes < limits.part_registers && 8 * nodes < limits.cost && 2 * nodes < limits.accesses &&
                        72 * nodes < limits.argument_bytes;
  if (segment.reduced > 0 || is_short) {
    result.push_back(std::move(segment));
    return result;
  }
  const codegen::Partition partition = codegen::partition(segment.body.graph, argument_bytes(segment), limits);
  if (partition.parts.size() == 1 && !partition.reorders) {
    result.push_back(std::move(segment));
    return result;
  }
  Splitter splitter(segment, temporaries);
  result = splitter.run(partition.parts);
  if (result.size() == 1) return result;
  notes.push_back(fmt::format(
      "{} kernels for {} operations: {}. {} values between them, {} bytes per element, are stored", result.size(),
      segment.body.graph.size(), partition.reason, splitter.stored(), splitter.stored_bytes()));
  return result;
}

}  // namespace kiln::dsl
