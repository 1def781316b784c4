// tests/unit/codegen/partition_test.cpp -- long bodies: where they are cut, in what order values are computed, and how
// much work that takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "codegen/pass/builder.h"
#include "codegen/schedule/partition.h"
#include "codegen/schedule/value_order.h"

namespace kiln::codegen {
namespace {

constexpr PartitionLimits generous = {1 << 20, 1 << 20, 1 << 30, 1 << 20, 1 << 30};

ArgumentBytes eight_bytes_each(const Graph& body) {
  std::size_t accesses = 0, parameters = 0;
  for (const Node& node : body.nodes()) {
    if (node.kind == NodeKind::load) accesses = std::max(accesses, std::size_t{node.payload} + 1);
    if (node.kind == NodeKind::parameter) parameters = std::max(parameters, std::size_t{node.payload} + 1);
  }
  return {std::vector<std::int64_t>(accesses, 8), std::vector<std::int64_t>(parameters, 8), 8, 8};
}

Partition parts_of(const Graph& body, const PartitionLimits& limits) {
  return partition(body, eight_bytes_each(body), limits);
}

/// `count` values, each needed for the next and once more, in the opposite order: all are held at one time.
NodeId held(Builder& b, NodeId x, int count) {
  std::vector<NodeId> values{x};
  for (int i = 1; i < count; ++i) values.push_back(b.div(values.back(), b.like(x, 2 + i)));
  NodeId result = values.back();
  while (!values.empty()) {
    result = b.div(values.back(), result);
    values.pop_back();
  }
  return result;
}

/// Values that any of the last `window` values may need.
Graph random_body(unsigned seed, int count, int window) {
  std::mt19937 random(seed);
  Graph graph;
  Builder b(graph);
  std::vector<NodeId> values;
  for (std::uint64_t a = 0; a < 6; ++a) values.push_back(graph.load(a, DType::f32));
  const auto pick = [&] {
    return values[values.size() - 1 -
                  random() % std::min<std::size_t>(values.size(), static_cast<std::size_t>(window))];
  };
  for (int i = 0; i < count; ++i) {
    const NodeId first = pick(), second = pick();
    const unsigned way = random() % 4;
    values.push_back(way == 0   ? b.add(first, second)
                     : way == 1 ? b.mul(first, second)
                     : way == 2 ? b.sub(b.mul(first, second), pick())
                                : b.sqrt(first));
  }
  graph.outputs = {values[values.size() - 1], values[values.size() - 2], values[values.size() / 2]};
  return canonical(graph);
}

/// What a kernel of the values `part` holds, by definition: counted again at every place.
struct Held {
  int registers = 0;
  std::size_t accesses = 0;
};
Held held_by(const Graph& body, const Partition& all, std::size_t part) {
  const std::vector<char> recomputed = recomputed_nodes(body);
  std::map<NodeId, std::size_t> part_of;
  for (std::size_t p = 0; p < all.parts.size(); ++p)
    for (const NodeId id : all.parts[p]) part_of[id] = p;
  const std::vector<NodeId>& own = all.parts[part];
  std::set<std::pair<bool, std::uint64_t>> accesses;  // loads by number, values by node
  const auto visit = [&](auto&& self, NodeId id) -> void {
    for (const NodeId operand : body[id].inputs()) {
      if (body[operand].kind == NodeKind::load) accesses.insert({true, body[operand].payload});
      if (recomputed[operand])
        self(self, operand);
      else if (part_of.at(operand) != part)
        accesses.insert({false, operand});
    }
  };
  for (const NodeId id : own) visit(visit, id);
  std::set<NodeId> stored;
  for (const NodeId output : body.outputs)
    if (part_of.at(output) == part) stored.insert(output);
  const std::size_t results = stored.size();
  std::size_t passed = 0;
  for (const NodeId id : own) {
    for (NodeId user = 0; user < body.size(); ++user) {
      const auto inputs = body[user].inputs();
      if (!recomputed[id] && part_of.contains(user) && part_of.at(user) > part &&
          std::find(inputs.begin(), inputs.end(), id) != inputs.end()) {
        ++passed;
        stored.insert(id);
        break;
      }
    }
  }
  Held result{0, accesses.size() + results + passed};
  for (std::size_t at = 0; at < own.size(); ++at) {
    std::set<NodeId> live(stored.begin(), stored.end());  // those computed already, and those that are needed later
    for (const NodeId id : stored)
      if (std::find(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(at) + 1, id) ==
          own.begin() + static_cast<std::ptrdiff_t>(at) + 1)
        live.erase(id);
    for (std::size_t later = at; later < own.size(); ++later)
      for (const NodeId operand : body[own[later]].inputs()) {
        if (recomputed[operand]) continue;
        const auto first = own.begin(), now = first + static_cast<std::ptrdiff_t>(at) + 1;
        const bool met = std::any_of(first, now, [&](NodeId id) {
          const auto inputs = body[id].inputs();
          return id == operand || std::find(inputs.begin(), inputs.end(), operand) != inputs.end();
        });
        if (met) live.insert(operand);
      }
    live.insert(own[at]);
    int registers = 0;
    for (const NodeId id : live) registers += registers_of(body[id].type);
    result.registers = std::max(result.registers, registers);
  }
  return result;
}

TEST(Partition, ABodyWithinItsLimitsStaysWhole) {
  Graph graph;
  Builder b(graph);
  graph.outputs = {held(b, graph.load(0, DType::f32), 100)};
  const Partition whole = parts_of(graph, generous);
  EXPECT_EQ(whole.parts.size(), 1u);
  EXPECT_TRUE(whole.reason.empty());
  EXPECT_GE(whole.registers, 99);
  EXPECT_LE(whole.registers, 102);
  EXPECT_EQ(whole.accesses, 2) << "one operand, one result";
}

/// The cut with the fewest bytes: between two stretches that hold 100 values each, one value passes.
TEST(Partition, CutsAtTheWaist) {
  Graph graph;
  Builder b(graph);
  const NodeId waist = held(b, graph.load(0, DType::f32), 100);
  graph.outputs = {held(b, waist, 100)};
  PartitionLimits limits = generous;
  limits.cost = 3000;  // of 8 * 398
  const Partition cut = parts_of(graph, limits);
  ASSERT_EQ(cut.parts.size(), 2u);
  EXPECT_EQ(cut.parts[0].back(), waist);
  EXPECT_NE(cut.reason.find("operations"), std::string::npos) << cut.reason;
}

TEST(Partition, SpillsAreTheReasonToCut) {
  Graph graph;
  Builder b(graph);
  NodeId x = graph.load(0, DType::f32);
  for (int i = 0; i < 3; ++i) x = held(b, x, 200);
  graph.outputs = {x};
  PartitionLimits limits = generous;
  limits.registers = 150;
  limits.part_registers = 150;
  const Partition cut = parts_of(graph, limits);
  EXPECT_GT(cut.parts.size(), 3u);
  EXPECT_NE(cut.reason.find("spills"), std::string::npos) << cut.reason;
  for (std::size_t p = 0; p < cut.parts.size(); ++p) EXPECT_LE(held_by(graph, cut, p).registers, 150) << p;
}

TEST(Partition, EveryValueIsComputedOnceAfterItsOperands) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    const Graph body = random_body(seed, 400, 60);
    PartitionLimits limits = generous;
    limits.registers = limits.part_registers = 24 + static_cast<int>(seed);
    limits.cost = 200;
    limits.accesses = 40;
    const Partition cut = parts_of(body, limits);
    ASSERT_GT(cut.parts.size(), 1u);
    const std::vector<char> recomputed = recomputed_nodes(body);
    std::set<NodeId> known;
    for (const auto& part : cut.parts) {
      EXPECT_FALSE(part.empty());
      for (const NodeId id : part) {
        EXPECT_TRUE(known.insert(id).second) << "%" << id << " twice";
        for (const NodeId operand : body[id].inputs())
          EXPECT_TRUE(recomputed[operand] || known.contains(operand)) << "%" << operand << " before %" << id;
      }
    }
    for (const NodeId output : body.outputs) EXPECT_TRUE(known.contains(output));
  }
}

TEST(Partition, EveryPartStaysWithinTheLimits) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Graph body = random_body(seed, 300, 50);
    PartitionLimits limits = generous;
    limits.registers = limits.part_registers = 20;
    limits.accesses = 30;
    const Partition cut = parts_of(body, limits);
    for (std::size_t p = 0; p < cut.parts.size(); ++p) {
      const Held held = held_by(body, cut, p);
      EXPECT_LE(held.registers, 20) << "seed " << seed << " part " << p;
      EXPECT_LE(held.accesses, 30u) << "seed " << seed << " part " << p;
    }
  }
}

/// A product that is fused with its sum must not be rounded by a cut between them.
TEST(Partition, ProductsStayWithTheirSums) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Graph body = random_body(seed, 300, 8);
    std::vector<int> uses(body.size(), 0);
    for (const Node& node : body.nodes())
      for (const NodeId operand : node.inputs()) ++uses[operand];
    for (const NodeId output : body.outputs) ++uses[output];
    PartitionLimits limits = generous;
    limits.cost = 20 + seed;
    const Partition cut = parts_of(body, limits);
    std::map<NodeId, std::size_t> part_of;
    for (std::size_t p = 0; p < cut.parts.size(); ++p)
      for (const NodeId id : cut.parts[p]) part_of[id] = p;
    for (const auto& [id, part] : part_of) {
      const Node& sum = body[id];
      if (sum.kind != NodeKind::operation || (sum.op != Op::add && sum.op != Op::sub)) continue;
      for (const NodeId operand : sum.inputs()) {
        if (body[operand].op != Op::mul || uses[operand] != 1 || !part_of.contains(operand)) continue;
        EXPECT_EQ(part_of.at(operand), part) << "%" << operand << " and %" << id;
      }
    }
  }
}

/// What is cheap to compute from one operand is computed again: only the operand is read twice.
TEST(Partition, ConversionsOfOperandsAreNotStored) {
  Graph graph;
  Builder b(graph);
  const NodeId wide = b.cast(graph.load(0, DType::bf16), DType::f32);
  NodeId x = wide;
  for (int i = 0; i < 40; ++i) x = b.div(x, b.add(wide, b.like(x, i)));
  graph.outputs = {x};
  PartitionLimits limits = generous;
  limits.cost = 100;
  const Partition cut = parts_of(graph, limits);
  EXPECT_GT(cut.parts.size(), 1u);
  for (const auto& part : cut.parts) EXPECT_EQ(std::count(part.begin(), part.end(), wide), 0);
}

TEST(Partition, OperandsAndArgumentsAtTheBoundary) {
  for (const int count : {99, 100, 101}) {
    Graph graph;
    Builder b(graph);
    NodeId x = graph.load(0, DType::f32);
    for (int a = 1; a < count; ++a) x = b.add(x, graph.load(static_cast<std::uint64_t>(a), DType::f32));
    graph.outputs = {x};
    PartitionLimits limits = generous;
    limits.accesses = 101;  // 100 operands and a result
    EXPECT_EQ(parts_of(graph, limits).parts.size(), count <= 100 ? 1u : 2u) << count;
    limits = generous;
    limits.argument_bytes = 8 + 8 * 101;
    EXPECT_EQ(parts_of(graph, limits).parts.size(), count <= 100 ? 1u : 2u) << count;
  }
}

TEST(Partition, ParametersCountAsArguments) {
  for (const int count : {499, 500, 501}) {
    Graph graph;
    Builder b(graph);
    NodeId x = graph.load(0, DType::f32);
    for (int p = 0; p < count; ++p) x = b.add(x, graph.parameter(static_cast<std::uint64_t>(p), DType::f32));
    graph.outputs = {x};
    PartitionLimits limits = generous;
    limits.argument_bytes = 8 + 8 + 8 + 8 * 500;
    EXPECT_EQ(parts_of(graph, limits).parts.size(), count <= 500 ? 1u : 2u) << count;
  }
}

/// A result that is an operand is stored by some kernel too.
TEST(Partition, HundredsOfResults) {
  Graph graph;
  Builder b(graph);
  for (std::uint64_t a = 0; a < 300; ++a) {
    const NodeId x = graph.load(a, DType::f32);
    graph.outputs.push_back(a % 3 == 0 ? x : b.div(b.like(x, 1), x));
  }
  PartitionLimits limits = generous;
  limits.accesses = 64;
  const Partition cut = parts_of(graph, limits);
  EXPECT_EQ(cut.parts.size(), 10u) << "600 operands and results, 64 a kernel";
  std::size_t results = 0;
  for (const auto& part : cut.parts) results += part.size();
  EXPECT_EQ(results, 300u) << "nothing passes between kernels";
}

/// y = term + y, written so that all terms come first in the order of operands.
TEST(ValueOrder, TermsDoNotWaitForOneAnother) {
  Graph graph;
  Builder b(graph);
  const NodeId x = graph.load(0, DType::f32);
  NodeId y = x;
  for (int i = 0; i < 500; ++i) y = b.add(b.div(b.sqrt(b.add(x, b.like(x, i))), b.like(x, 3 + i)), y);
  graph.outputs = {y};
  const Graph body = canonical(graph);
  const ValueOrder order = order_values(body, recomputed_nodes(body));
  EXPECT_GE(order.numbered_registers, 500);
  EXPECT_LE(order.registers, 3);
  EXPECT_TRUE(parts_of(body, generous).reorders);
}

TEST(ValueOrder, WideValuesTakeMoreRegisters) {
  EXPECT_EQ(registers_of(DType::b1), 1);
  EXPECT_EQ(registers_of(DType::f32), 1);
  EXPECT_EQ(registers_of(DType::f64), 2);
  EXPECT_EQ(registers_of(DType::c128), 4);
}

/// Ten times the nodes cost about ten times the steps.
TEST(Partition, WorkIsLinear) {
  const auto visits = [](const Graph& body) {
    PartitionLimits limits = generous;
    limits.registers = limits.part_registers = 40;
    limits.cost = 500;
    limits.accesses = 64;
    return static_cast<double>(parts_of(body, limits).visits);
  };
  EXPECT_LE(visits(random_body(1, 20000, 60)), 13 * visits(random_body(1, 2000, 60)));
  const auto chain = [](int count) {
    Graph graph;
    Builder b(graph);
    NodeId x = graph.load(0, DType::f32);
    for (int i = 0; i < count; ++i) x = b.div(x, b.like(x, i));
    graph.outputs = {x};
    return graph;
  };
  EXPECT_LE(visits(chain(100000)), 11 * visits(chain(10000)));
}

}  // namespace
}  // namespace kiln::codegen
