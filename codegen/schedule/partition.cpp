// codegen/schedule/partition.cpp -- cuts a body where the fewest bytes cross, by one scan over each kernel's values.
#include "codegen/schedule/partition.h"

#include <algorithm>

#include <fmt/format.h>

#include "codegen/schedule/value_order.h"

namespace kiln::codegen {
namespace {

constexpr std::int64_t kernel_bytes = 64;  ///< what a kernel costs beside its operands, per element

bool reads_access(const Node& node) {
  return node.kind == NodeKind::load || node.kind == NodeKind::iota || node.kind == NodeKind::gather;
}

std::int64_t bytes_of(DType type) { return static_cast<std::int64_t>(size_of(type)); }

class Partitioner {
 public:
  Partitioner(const Graph& body, const ArgumentBytes& bytes, const PartitionLimits& limits)
      : body_(body),
        bytes_(bytes),
        limits_(limits),
        recomputed_(recomputed_nodes(body)),
        order_(order_values(body, recomputed_)),
        reads_(order_.nodes.size()),
        access_part_(bytes.accesses.size(), -1),
        parameter_part_(bytes.parameters.size(), -1),
        value_part_(order_.nodes.size(), -1),
        endings_(order_.nodes.size()) {}
  Partition run();

 private:
  /// What the kernel of the values from `begin` on holds, as far as they have been followed.
  struct Kernel {
    int number = 0;
    int registers = 0, most_registers = 0;
    std::int64_t cost = 0, accesses = 0, argument_bytes = 0;
    std::int64_t own = 0, own_bytes = 0;  ///< of its values, those that later ones need
  };
  /// What ends at a place, in kernel `kernel`.
  struct Ending {
    int kernel = 0;
    int registers = 0;
    std::int64_t own = 0, own_bytes = 0;
  };
  Ending& ending(std::size_t place, const Kernel& kernel) {
    Ending& at = endings_[place];
    if (at.kernel != kernel.number) at = {kernel.number};
    return at;
  }
  void find_reads();
  bool fits(const Kernel& kernel, const PartitionLimits& limits) const;
  void follow(std::size_t begin, std::size_t at, Kernel& kernel);
  std::size_t end_of(std::size_t begin, int number);
  std::string reason() const;

  const Graph& body_;
  const ArgumentBytes& bytes_;
  const PartitionLimits& limits_;
  std::vector<char> recomputed_;
  ValueOrder order_;
  std::vector<std::vector<NodeId>> reads_;  ///< per value: leaves that it needs, through what is computed again
  std::vector<std::int64_t> reread_bytes_;  ///< per place: of operands that are read before and after it
  std::vector<int> access_part_, parameter_part_, value_part_;  ///< the last kernel that needed each
  std::vector<Ending> endings_;                                 ///< per place
  Partition result_;
};

void Partitioner::find_reads() {
  std::vector<std::size_t> first(bytes_.accesses.size(), no_position), last(bytes_.accesses.size(), 0);
  std::vector<DType> types(bytes_.accesses.size(), DType::f32);
  for (std::size_t at = 0; at < order_.nodes.size(); ++at) {
    std::vector<NodeId> pending{order_.nodes[at]};
    while (!pending.empty()) {
      const NodeId id = pending.back();
      const Node& node = body_[id];
      pending.pop_back();
      ++result_.visits;
      if (reads_access(node) || node.kind == NodeKind::parameter) reads_[at].push_back(id);
      if (reads_access(node)) {
        if (first[node.payload] == no_position) first[node.payload] = at;
        last[node.payload] = at;
        types[node.payload] = node.type;
      }
      for (const NodeId operand : node.inputs())
        if (recomputed_[operand]) pending.push_back(operand);
    }
  }
  reread_bytes_.assign(order_.nodes.size() + 1, 0);
  for (std::size_t a = 0; a < first.size(); ++a) {
    if (first[a] == no_position) continue;
    reread_bytes_[first[a] + 1] += bytes_of(types[a]);
    reread_bytes_[last[a] + 1] -= bytes_of(types[a]);
  }
  for (std::size_t at = 1; at < reread_bytes_.size(); ++at) reread_bytes_[at] += reread_bytes_[at - 1];
}

bool Partitioner::fits(const Kernel& kernel, const PartitionLimits& limits) const {
  return kernel.most_registers <= limits.registers && kernel.cost <= limits.cost &&
         kernel.accesses <= limits.accesses && kernel.argument_bytes <= limits.argument_bytes;
}

/// Adds the value at place `at`.
void Partitioner::follow(std::size_t begin, std::size_t at, Kernel& kernel) {
  const NodeId id = order_.nodes[at];
  for (const NodeId leaf : reads_[at]) {
    ++result_.visits;
    const Node& node = body_[leaf];
    int& part = node.kind == NodeKind::parameter ? parameter_part_[node.payload] : access_part_[node.payload];
    if (part == kernel.number) continue;
    part = kernel.number;
    kernel.accesses += node.kind == NodeKind::parameter ? 0 : 1;
    kernel.argument_bytes +=
        node.kind == NodeKind::parameter ? bytes_.parameters[node.payload] : bytes_.accesses[node.payload];
  }
  for (const NodeId operand : body_[id].inputs()) {
    ++result_.visits;
    const std::size_t place = order_.position[operand];
    if (recomputed_[operand] || place >= begin || value_part_[place] == kernel.number) continue;
    value_part_[place] = kernel.number;  // read from memory, and kept from here on
    ++kernel.accesses;
    kernel.argument_bytes += bytes_.store;
    kernel.registers += registers_of(body_[operand].type);
    ending(order_.last_use[place], kernel).registers += registers_of(body_[operand].type);
  }
  const int own = registers_of(body_[id].type);
  kernel.registers += own;
  kernel.most_registers = std::max(kernel.most_registers, kernel.registers);
  kernel.cost += operation_cost(body_[id]);
  if (order_.is_output[at]) {
    ++kernel.accesses;
    kernel.argument_bytes += bytes_.store;
  } else {
    ending(order_.last_use[at], kernel).registers += own;
  }
  if (!recomputed_[id]) {
    Ending& last = ending(order_.last_use[at], kernel);
    ++kernel.own, ++last.own;
    kernel.own_bytes += bytes_of(body_[id].type);
    last.own_bytes += bytes_of(body_[id].type);
  }
  const Ending& here = ending(at, kernel);
  kernel.registers -= here.registers;
  kernel.own -= here.own;
  kernel.own_bytes -= here.own_bytes;
}

/// The place behind the last value of the kernel that starts at `begin`: of those that it may end at, the one where the
/// fewest bytes per value computed are stored for later kernels or read again.
std::size_t Partitioner::end_of(std::size_t begin, int number) {
  PartitionLimits limits = limits_;
  if (result_.registers > limits_.registers) limits.registers = limits_.part_registers;
  Kernel kernel;
  kernel.number = number;
  kernel.argument_bytes = bytes_.fixed;
  std::size_t best = begin;
  double least = 0;
  for (std::size_t at = begin; at < order_.nodes.size(); ++at) {
    follow(begin, at, kernel);
    if (!fits(kernel, limits)) break;
    const std::size_t end = at + 1;
    if (end == order_.nodes.size()) return end;
    Kernel closed = {};
    closed.accesses = kernel.accesses + kernel.own;
    closed.argument_bytes = kernel.argument_bytes + kernel.own * bytes_.store;
    if (order_.waits_for_next[at] || !fits(closed, limits)) continue;
    const double bytes = static_cast<double>(2 * kernel.own_bytes + reread_bytes_[end] + kernel_bytes);
    const double share = bytes / static_cast<double>(end - begin);
    if (best > begin && share > least) continue;
    best = end;
    least = share;
  }
  if (best > begin) return best;
  std::size_t end = begin + 1;  // one value that is too much by itself
  while (end < order_.nodes.size() && order_.waits_for_next[end - 1]) ++end;
  return end;
}

std::string Partitioner::reason() const {
  if (result_.registers > limits_.registers)
    return fmt::format("{} registers would hold values that are still needed, and a kernel spills beyond {}",
                       result_.registers, limits_.registers);
  if (result_.accesses > limits_.accesses)
    return fmt::format("{} operands and results are more than the {} of one kernel", result_.accesses,
                       limits_.accesses);
  if (result_.argument_bytes > limits_.argument_bytes)
    return fmt::format("{} bytes of arguments are more than the {} of one kernel", result_.argument_bytes,
                       limits_.argument_bytes);
  return fmt::format("the work of {} operations is more than compiles well in one piece ({})", result_.cost,
                     limits_.cost);
}

Partition Partitioner::run() {
  find_reads();
  Kernel whole;  // number 0
  whole.argument_bytes = bytes_.fixed;
  for (std::size_t at = 0; at < order_.nodes.size(); ++at) follow(0, at, whole);
  result_.registers = whole.most_registers;
  result_.cost = whole.cost;
  result_.accesses = whole.accesses;
  result_.argument_bytes = whole.argument_bytes;
  if (fits(whole, limits_)) {
    result_.parts.push_back(order_.nodes);
    result_.reorders = order_.numbered_registers > 32 && 4 * order_.registers < 3 * order_.numbered_registers;
    return std::move(result_);
  }
  result_.reason = reason();
  for (std::size_t begin = 0; begin < order_.nodes.size();) {
    const std::size_t end = end_of(begin, static_cast<int>(result_.parts.size()) + 1);
    result_.parts.emplace_back(order_.nodes.begin() + static_cast<std::ptrdiff_t>(begin),
                               order_.nodes.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
  }
  return std::move(result_);
}

}  // namespace

PartitionLimits partition_limits(const DeviceTraits& device) {
  // CPU kernels keep what does not fit into registers in the first cache, which costs less than a pass over memory.
  if (!device.cuda) return {1 << 30, 1 << 30, 16384, 1024, 1 << 20};
  return {232, 160, 8192, 256, device.argument_bytes};
}

Partition partition(const Graph& body, const ArgumentBytes& bytes, const PartitionLimits& limits) {
  return Partitioner(body, bytes, limits).run();
}

}  // namespace kiln::codegen
