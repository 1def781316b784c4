// codegen/schedule/value_order.cpp -- the best of three orders: as numbered; depth first, what needs most registers
// first (Sethi and Ullman 1970); whatever frees registers first.
#include "codegen/schedule/value_order.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace kiln::codegen {
namespace {

constexpr int cost_of_function = 8;  ///< of a call, a division or a transcendental function
constexpr int recomputed_cost = 4;   ///< what is cheaper than to store and read a value

/// The nodes that must be known before `node`, a value: products that it may be fused with are computed right before
/// it, so their operands stand for them.
class Requirements {
 public:
  Requirements(const Graph& body, const std::vector<char>& recomputed)
      : body_(body), recomputed_(recomputed), joined_(body.size(), 0) {
    std::vector<std::uint32_t> uses(body.size(), 0);
    for (const NodeId output : body.outputs) ++uses[output];
    for (const Node& node : body.nodes())
      for (const NodeId operand : node.inputs()) ++uses[operand];
    for (const Node& node : body.nodes()) {
      const bool adds = node.kind == NodeKind::operation && (node.op == Op::add || node.op == Op::sub);
      if (!adds || !is_floating(node.type)) continue;
      for (const NodeId operand : node.inputs()) {
        const Node& product = body[operand];
        const bool multiplies = product.kind == NodeKind::operation && product.op == Op::mul;
        if (multiplies && uses[operand] == 1 && !recomputed[operand]) joined_[operand] = 1;
      }
    }
  }

  bool is_joined(NodeId id) const { return joined_[id] != 0; }

  std::vector<NodeId> of(NodeId id) const {
    std::vector<NodeId> result;
    for (const NodeId operand : body_[id].inputs()) {
      if (joined_[operand] == 0) add(operand, result);
      if (joined_[operand] != 0)
        for (const NodeId factor : body_[operand].inputs()) add(factor, result);
    }
    return result;
  }

 private:
  void add(NodeId id, std::vector<NodeId>& result) const {
    if (!recomputed_[id] && std::find(result.begin(), result.end(), id) == result.end()) result.push_back(id);
  }

  const Graph& body_;
  const std::vector<char>& recomputed_;
  std::vector<char> joined_;
};

/// Registers that computing each node takes, as if nothing were shared; requirements come out in the best order.
std::vector<std::vector<NodeId>> by_need(const Graph& body, const std::vector<char>& recomputed,
                                         const Requirements& requirements) {
  std::vector<std::vector<NodeId>> ordered(body.size());
  std::vector<int> need(body.size(), 0);
  for (NodeId id = 0; id < body.size(); ++id) {
    if (recomputed[id] || requirements.is_joined(id)) continue;
    std::vector<NodeId>& first = ordered[id] = requirements.of(id);
    std::stable_sort(first.begin(), first.end(), [&](NodeId a, NodeId b) { return need[a] > need[b]; });
    int held = 0;
    for (const NodeId operand : first) {
      need[id] = std::max(need[id], held + need[operand]);
      held += registers_of(body[operand].type);
    }
    need[id] = std::max({need[id], held, registers_of(body[id].type)});
  }
  return ordered;
}

void append(const Graph& body, const Requirements& requirements, NodeId id, ValueOrder& order) {
  for (const NodeId operand : body[id].inputs()) {
    if (!requirements.is_joined(operand)) continue;
    order.position[operand] = order.nodes.size();
    order.nodes.push_back(operand);
  }
  order.position[id] = order.nodes.size();
  order.nodes.push_back(id);
}

ValueOrder empty_order(const Graph& body) {
  ValueOrder order;
  order.position.assign(body.size(), no_position);
  return order;
}

ValueOrder depth_first(const Graph& body, const std::vector<char>& recomputed, const Requirements& requirements) {
  const std::vector<std::vector<NodeId>> operands = by_need(body, recomputed, requirements);
  ValueOrder order = empty_order(body);
  std::vector<std::pair<NodeId, std::uint32_t>> stack;  // a node and the number of its operands already visited
  for (const NodeId output : body.outputs) {
    if (order.position[output] == no_position) stack.emplace_back(output, 0);
    while (!stack.empty()) {
      auto& [id, visited] = stack.back();
      if (order.position[id] != no_position) {
        stack.pop_back();
      } else if (visited < operands[id].size()) {
        const NodeId next = operands[id][visited++];
        if (order.position[next] == no_position) stack.emplace_back(next, 0);
      } else {
        append(body, requirements, id, order);
        stack.pop_back();
      }
    }
  }
  return order;
}

/// Steps that free the most registers first, of equal ones the first in `depth_first`.
class Greedy {
 public:
  Greedy(const Graph& body, const Requirements& requirements, const ValueOrder& first)
      : body_(body), requirements_(requirements), first_(first) {}

  ValueOrder run() {
    prepare();
    ValueOrder order = empty_order(body_);
    while (!ready_.empty()) {
      const auto [gain, at, id] = *ready_.begin();
      ready_.erase(ready_.begin());
      (void)gain, (void)at;
      append(body_, requirements_, id, order);
      finish(id);
    }
    return order;
  }

 private:
  using Entry = std::tuple<int, std::size_t, NodeId>;  // registers that the step adds, place, value

  void prepare() {
    operands_.resize(body_.size());
    users_.resize(body_.size());
    waiting_.assign(body_.size(), 0);
    left_.assign(body_.size(), 0);
    for (const NodeId id : first_.nodes) {
      if (requirements_.is_joined(id)) continue;
      operands_[id] = requirements_.of(id);
      waiting_[id] = operands_[id].size();
      for (const NodeId operand : operands_[id]) users_[operand].push_back(id);
    }
    for (const NodeId id : first_.nodes) left_[id] = users_[id].size();
    for (const NodeId output : body_.outputs) ++left_[output];
    for (const NodeId id : first_.nodes)
      if (!requirements_.is_joined(id) && waiting_[id] == 0) ready_.insert(entry(id));
  }

  Entry entry(NodeId id) const {
    int added = registers_of(body_[id].type);
    for (const NodeId operand : operands_[id])
      if (left_[operand] == 1) added -= registers_of(body_[operand].type);
    return {added, first_.position[id], id};
  }

  void finish(NodeId id) {
    for (const NodeId operand : operands_[id]) {
      if (left_[operand] == 2) change_last_user(operand, id);
      --left_[operand];
    }
    waiting_[id] = no_position;
    for (const NodeId user : users_[id])
      if (--waiting_[user] == 0) ready_.insert(entry(user));
  }

  /// One user of `operand` is left when `done` is: its step frees the operand from now on.
  void change_last_user(NodeId operand, NodeId done) {
    for (const NodeId user : users_[operand]) {
      if (user == done || waiting_[user] != 0) continue;
      ready_.erase(entry(user));
      --left_[operand];
      ready_.insert(entry(user));
      ++left_[operand];
    }
  }

  const Graph& body_;
  const Requirements& requirements_;
  const ValueOrder& first_;
  std::vector<std::vector<NodeId>> operands_, users_;
  std::vector<std::size_t> waiting_;  ///< operands that are not known yet
  std::vector<std::size_t> left_;     ///< uses to come
  std::set<Entry> ready_;
};

ValueOrder as_numbered(const Graph& body, const std::vector<char>& recomputed, const Requirements& requirements) {
  std::vector<char> needed(body.size(), 0);
  for (const NodeId output : body.outputs) needed[output] = 1;
  for (NodeId id = body.size(); id-- > 0;) {
    if (!needed[id]) continue;
    for (const NodeId operand : body[id].inputs()) needed[operand] = 1;
  }
  std::vector<char> is_output(body.size(), 0);
  for (const NodeId output : body.outputs) is_output[output] = 1;
  ValueOrder order = empty_order(body);
  for (NodeId id = 0; id < body.size(); ++id) {
    const bool is_value = !recomputed[id] || is_output[id];
    if (needed[id] && is_value && !requirements.is_joined(id)) append(body, requirements, id, order);
  }
  return order;
}

/// Uses, and the most registers that are held at a time.
void follow(const Graph& body, const std::vector<char>& recomputed, const Requirements& requirements,
            ValueOrder& order) {
  const std::size_t count = order.nodes.size();
  order.last_use.resize(count);
  order.is_output.assign(count, 0);
  order.waits_for_next.assign(count, 0);
  for (std::size_t at = 0; at < count; ++at) {
    order.last_use[at] = at;
    order.waits_for_next[at] = requirements.is_joined(order.nodes[at]) ? 1 : 0;
    for (const NodeId operand : body[order.nodes[at]].inputs())
      if (!recomputed[operand]) order.last_use[order.position[operand]] = at;
  }
  for (const NodeId output : body.outputs) order.is_output[order.position[output]] = 1;
  std::vector<int> released(count + 1, 0);
  int held = 0;
  for (std::size_t at = 0; at < count; ++at) {
    const int own = registers_of(body[order.nodes[at]].type);
    held += own;
    order.registers = std::max(order.registers, held);
    if (!order.is_output[at]) released[order.last_use[at]] += own;  // results wait for the stores at the end
    held -= released[at];
  }
}

}  // namespace

int operation_cost(const Node& node) {
  switch (node.kind) {
    case NodeKind::load:
    case NodeKind::iota:
    case NodeKind::literal:
    case NodeKind::parameter:
      return 0;
    case NodeKind::call:
      return cost_of_function;
    case NodeKind::operation: {
      const bool function = (node.op >= Op::sqrt && node.op <= Op::tgamma) || node.op == Op::pow ||
                            node.op == Op::hypot || node.op == Op::fmod || node.op == Op::div || node.op == Op::mod;
      return function ? cost_of_function : 1;
    }
    default:
      return 1;
  }
}

std::vector<char> recomputed_nodes(const Graph& body) {
  std::vector<char> result(body.size(), 0);
  std::vector<int> cost(body.size(), 0), loads(body.size(), 0);
  for (NodeId id = 0; id < body.size(); ++id) {
    const Node& node = body[id];
    bool again = node.kind != NodeKind::call && node.kind != NodeKind::gather && node.kind != NodeKind::complex;
    cost[id] = operation_cost(node);
    loads[id] = node.kind == NodeKind::load ? 1 : 0;
    for (const NodeId operand : node.inputs()) {
      again = again && result[operand];
      cost[id] = std::min(recomputed_cost + 1, cost[id] + cost[operand]);
      loads[id] = std::min(2, loads[id] + loads[operand]);
    }
    result[id] = again && cost[id] <= recomputed_cost && loads[id] <= 1 ? 1 : 0;
  }
  return result;
}

int registers_of(DType type) { return static_cast<int>(std::max<std::size_t>(1, size_of(type) / 4)); }

ValueOrder order_values(const Graph& body, const std::vector<char>& recomputed) {
  const Requirements requirements(body, recomputed);
  ValueOrder numbered = as_numbered(body, recomputed, requirements);
  follow(body, recomputed, requirements, numbered);
  const int most = numbered.registers;
  ValueOrder order = depth_first(body, recomputed, requirements);
  follow(body, recomputed, requirements, order);
  ValueOrder greedy = Greedy(body, requirements, order).run();
  follow(body, recomputed, requirements, greedy);
  if (greedy.registers < order.registers) order = std::move(greedy);
  if (order.registers >= numbered.registers) order = std::move(numbered);
  order.numbered_registers = most;
  return order;
}

}  // namespace kiln::codegen
