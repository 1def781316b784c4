// tests/unit/codegen/candidates_test.cpp -- which schedules a tuner may measure: few, launchable, and without effect on
// the order of joins.
#include "codegen/schedule/candidates.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "codegen/schedule/arithmetic.h"

namespace kiln::codegen {
namespace {

constexpr AxisClass c = AxisClass::contiguous, s = AxisClass::strided, b = AxisClass::broadcast;

Access access(std::vector<AxisClass> axes, bool store) {
  Access result;
  result.axes = std::move(axes);
  result.alignment = 16;
  result.store = store;
  return result;
}

/// y = x + x.
Kernel elementwise(std::vector<AxisClass> from, std::vector<AxisClass> to) {
  Kernel kernel;
  kernel.rank = static_cast<int>(to.size());
  kernel.accesses = {access(std::move(from), false), access(std::move(to), true)};
  const NodeId x = kernel.body.load(0, DType::f32);
  const std::array<NodeId, 2> both = {x, x};
  kernel.body.outputs.push_back(kernel.body.operation(Op::add, DType::f32, both));
  return kernel;
}

/// A sum or running sum of x along the last axis.
Kernel reduction(std::vector<AxisClass> from, bool scan) {
  Kernel kernel;
  kernel.rank = static_cast<int>(from.size());
  kernel.reduced = 1;
  std::vector<AxisClass> to = from;
  if (!scan) {
    for (AxisClass& axis : to) axis = axis == s ? c : axis;
    to.back() = b;
  }
  kernel.accesses = {access(from, false), access(to, true)};
  ReductionSpec spec;
  spec.kind = Reduction::sum;
  const NodeId x = kernel.body.load(0, DType::f32);
  kernel.body.outputs.push_back(scan ? kernel.body.scan(spec, DType::f32, {x})
                                     : kernel.body.reduce(spec, DType::f32, {x}));
  return kernel;
}

struct Example {
  Kernel kernel;
  std::vector<std::int64_t> extents;
  std::size_t at_least;  ///< candidates, the heuristic among them
};

std::vector<Example> examples() {
  return {{elementwise({c}, {c}), {1 << 27}, 8},           {elementwise({s}, {c}), {1 << 27}, 8},
          {elementwise({s, c}, {s, c}), {16384, 8192}, 6}, {elementwise({c, s}, {s, c}), {16384, 8192}, 4},
          {reduction({s, c}, false), {1 << 22, 64}, 5},    {reduction({s, c}, false), {65536, 4096}, 3},
          {reduction({s, c}, false), {256, 1 << 20}, 3},   {reduction({c}, false), {1 << 28}, 3},
          {reduction({c, s}, false), {16384, 16384}, 4},   {reduction({c, s}, false), {64, 1 << 22}, 3},
          {reduction({s, c}, true), {1 << 20, 256}, 3},    {reduction({s, c}, true), {16384, 16384}, 3},
          {reduction({c, s}, true), {16384, 16384}, 4}};
}

std::vector<Candidate> candidates(const Example& example, const DeviceTraits& device = {}, bool any_order = false,
                                  std::size_t most = 12) {
  const Extents extents{example.extents};
  return tuning_candidates(example.kernel, extents, choose_schedule(example.kernel, extents, device), device, most,
                           any_order);
}

TEST(Candidates, TheHeuristicComesFirstAndAllDiffer) {
  for (const Example& example : examples()) {
    const Extents extents{example.extents};
    const auto list = candidates(example);
    ASSERT_GE(list.size(), example.at_least) << testing::PrintToString(example.extents);
    EXPECT_LE(list.size(), 12u);
    EXPECT_EQ(list[0].schedule.key(), choose_schedule(example.kernel, extents, {}).key());
    std::set<std::string> names;
    for (const Candidate& candidate : list) {
      EXPECT_EQ(candidate.name, candidate_name(candidate.schedule));
      EXPECT_TRUE(names.insert(candidate.name).second) << candidate.name;
    }
  }
}

/// Rule: every candidate covers the whole result with blocks that a card can hold.
TEST(Candidates, CanBeLaunched) {
  for (const int threads : {2048, 1536, 1024}) {
    DeviceTraits card;
    card.threads_per_multiprocessor = threads;
    for (const Example& example : examples()) {
      const Extents extents{example.extents};
      for (const Candidate& candidate : candidates(example, card, false, 64)) {
        const LaunchShape shape = launch_shape(example.kernel, candidate.schedule, extents);
        const std::uint64_t block = std::uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
        EXPECT_GE(block, 32u) << candidate.name;
        EXPECT_LE(block, 1024u) << candidate.name;
        EXPECT_LE(block, static_cast<std::uint64_t>(candidate.schedule.block)) << candidate.name;
        EXPECT_LE(candidate.schedule.min_blocks * candidate.schedule.block, threads) << candidate.name;
        EXPECT_GE(shape.grid[0], 1u);
      }
    }
  }
}

/// Rule: what decides the order in which elements of one row or column are joined is the heuristic's.
TEST(Candidates, KeepTheOrderOfJoins) {
  for (const Example& example : examples()) {
    if (example.kernel.reduced == 0) continue;
    const auto list = candidates(example);
    const Schedule& base = list[0].schedule;
    for (const Candidate& candidate : list) {
      const Schedule& schedule = candidate.schedule;
      SCOPED_TRACE(candidate.name);
      EXPECT_TRUE(candidate.same_bits);
      EXPECT_EQ(schedule.form, base.form);
      EXPECT_EQ(schedule.items, base.items);
      EXPECT_EQ(schedule.parts, base.parts);
      EXPECT_EQ(schedule.split, base.split);
      EXPECT_EQ(schedule.resident, base.resident);
      EXPECT_EQ(schedule.cluster, base.cluster);
      EXPECT_EQ(schedule.lanes, base.lanes);
      if (base.form == Template::column_reduction) {
        EXPECT_EQ(schedule.block / schedule.columns, base.block / base.columns) << "threads along a column";
      } else {
        EXPECT_EQ(schedule.vector, base.vector);
      }
      EXPECT_TRUE(base.form != Template::scan || base.lanes != 0 || schedule.rows == base.rows);
      EXPECT_TRUE(base.lanes <= 32 || schedule.block == base.block) << "a row's lanes are the block";
    }
  }
}

TEST(Candidates, OfAnyOrderAreMoreAndSaySo) {
  for (const Example& example : examples()) {
    const auto usual = candidates(example), any = candidates(example, {}, true, 64);
    EXPECT_LE(any.size(), 64u);
    if (example.kernel.reduced > 0) {
      EXPECT_GT(any.size(), usual.size()) << testing::PrintToString(example.extents);
      EXPECT_FALSE(any.back().same_bits);
    } else {
      for (const Candidate& candidate : any) EXPECT_TRUE(candidate.same_bits);
    }
    ASSERT_FALSE(any.empty());
    EXPECT_EQ(any[0].name, usual[0].name);
  }
}

TEST(Candidates, NoneWhereNothingMayVary) {
  DeviceTraits cpu;
  cpu.cuda = false;
  EXPECT_TRUE(candidates({elementwise({c}, {c}), {1 << 27}, 0}, cpu).empty());
  EXPECT_TRUE(candidates({elementwise({}, {}), {}, 0}).empty());
  EXPECT_TRUE(candidates({elementwise({c}, {c}), {0}, 0}).empty());
  Example scattering{elementwise({c}, {c}), {1 << 27}, 0};
  scattering.kernel.accesses[1].scatter = Scatter::add;
  EXPECT_TRUE(tuning_candidates(scattering.kernel, {scattering.extents}, {}, {}, 12, false).empty())
      << "atomic additions come in the order of the blocks";
}

TEST(Candidates, BlocksTakeTurnsOnlyWhereThereAreMany) {
  const auto in_turns = [](std::int64_t n) {
    int count = 0;
    for (const Candidate& candidate : candidates({elementwise({c}, {c}), {n}, 0})) {
      if (candidate.schedule.grid == 0) continue;
      ++count;
      const LaunchShape shape = launch_shape(elementwise({c}, {c}), candidate.schedule, {{n}});
      EXPECT_EQ(shape.grid[0], static_cast<std::uint32_t>(candidate.schedule.grid));
    }
    return count;
  };
  EXPECT_EQ(in_turns(1 << 27), 1);
  EXPECT_EQ(in_turns(100000), 0);
}

}  // namespace
}  // namespace kiln::codegen
