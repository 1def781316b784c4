// tests/unit/dsl/splitting_test.cpp -- kernels that were cut compute what the whole did, and say why.
#include "dsl/splitting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "dsl/temporaries.h"
#include "tests/unit/dsl/segment_support.h"

namespace kiln::dsl {
namespace {

using test::NodeId;
using test::Traced;

constexpr codegen::PartitionLimits generous = {1 << 20, 1 << 20, 1 << 30, 1 << 20, 1 << 30};

/// `outputs` in kernels within `limits`.
Segmentation cut(Traced& t, const std::vector<NodeId>& outputs, const codegen::PartitionLimits& limits) {
  Segmentation whole = t.segmented(outputs), result;
  result.temporaries = whole.temporaries;
  for (Segment& segment : whole.segments)
    for (Segment& part : split(std::move(segment), limits, result.temporaries, result.notes))
      result.segments.push_back(std::move(part));
  return result;
}

TEST(Splitting, AgreesWithTheTrace) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    Traced t;
    std::vector<NodeId> values{t.input({3, 4}), t.input({4}), t.input({3, 1})};
    for (int i = 0; i < 300; ++i) {
      const auto pick = [&] { return values[values.size() - 1 - random() % std::min<std::size_t>(values.size(), 30)]; };
      const NodeId a = pick(), b = pick();
      values.push_back(random() % 2 ? t.sub(t.mul(a, t.number(0.5)), b) : t.add(a, t.number(random() % 7)));
    }
    codegen::PartitionLimits limits = generous;
    limits.registers = limits.part_registers = 10;
    limits.accesses = 14;
    limits.cost = 40;
    const NodeId whole = t.add(values.back(), values[0]);
    const Segmentation parts = cut(t, {whole, t.add(values[150], values[0])}, limits);
    EXPECT_GE(parts.segments.size(), 3u);
    EXPECT_EQ(parts.notes.size(), 1u);
    expect_agreement(t, parts);
  }
}

TEST(Splitting, ValuesAreStoredInTheirOwnTypes) {
  Traced t;
  const NodeId x = t.input({8}, DType::f64), y = t.input({8});
  NodeId narrow = y, sum = x;
  for (int i = 0; i < 200; ++i) narrow = t.div(narrow, t.add(t.number(i + 100), y));
  for (int i = 0; i < 200; ++i) sum = t.div(sum, t.add(t.number(i + 100, DType::f64), x));
  const NodeId result = t.add(t.graph.cast(narrow, DType::f64), sum);
  codegen::PartitionLimits limits = generous;
  limits.cost = 300;
  const Segmentation parts = cut(t, {result}, limits);
  ASSERT_GT(parts.segments.size(), 2u);
  const auto count = [&](DType type) {
    return std::count_if(parts.temporaries.begin(), parts.temporaries.end(),
                         [&](const Temporary& temporary) { return temporary.type == type; });
  };
  EXPECT_GT(count(DType::f32), 0);
  EXPECT_GT(count(DType::f64), 0);
  EXPECT_EQ(count(DType::f32) + count(DType::f64), static_cast<std::ptrdiff_t>(parts.temporaries.size()));
  expect_agreement(t, parts);
}

TEST(Splitting, ReductionsAndShortBodiesStayWhole) {
  Traced t;
  const NodeId x = t.input({8, 8});
  const Segmentation whole = cut(t, {t.sum(t.mul(x, x), {1})}, codegen::partition_limits({}));
  EXPECT_EQ(whole.segments.size(), 1u);
  EXPECT_TRUE(whole.notes.empty());
}

/// Long operands are computed once, and not in each pass of the softmax; many sums share kernels of 32.
TEST(Splitting, LongOperandsOfReductionsAreStored) {
  Traced t;
  const NodeId x = t.input({4, 8});
  NodeId y = x;
  for (int i = 0; i < 600; ++i) y = t.add(t.mul(y, t.number(0.5)), x);
  const Segmentation s = t.segmented({t.softmax(y, {1})});
  ASSERT_EQ(s.segments.size(), 2u);
  EXPECT_EQ(s.segments[0].reduced, 0);
  EXPECT_LT(s.segments[1].body.graph.size(), 20u);
  ASSERT_EQ(s.notes.size(), 1u);
  EXPECT_NE(s.notes[0].find("too long to be computed in every pass"), std::string::npos) << s.notes[0];
  expect_agreement(t, s);
}

TEST(Splitting, ManyReductionsOfOneValueShareKernels) {
  Traced t;
  const NodeId x = t.input({4, 8});
  NodeId y = x;
  for (int i = 0; i < 250; ++i) y = t.add(y, t.sum(t.mul(x, t.number(i)), {1}, true));
  const Segmentation s = t.segmented({y});
  EXPECT_EQ(s.segments.size(), 9u) << "250 sums in kernels of 32, and what needs them";
  expect_agreement(t, s);
}

TEST(Splitting, WhatFollowsAReductionMayBeLong) {
  Traced t;
  const NodeId x = t.input({4, 8});
  NodeId y = t.softmax(x, {1});
  for (int i = 0; i < 2000; ++i) y = t.add(t.mul(y, t.number(0.5)), x);
  const Segmentation s = t.segmented({y});
  EXPECT_GE(s.segments.size(), 2u);
  EXPECT_EQ(s.segments.back().reduced, 0) << "two thousand operations are no epilogue";
  expect_agreement(t, s);
}

/// Kernels 0 to 9 each pass a value on to the next: two buffers are enough.
TEST(Temporaries, ShareMemory) {
  Draft draft;
  for (std::uint32_t k = 0; k < 10; ++k) {
    DraftKernel kernel;
    if (k > 0) kernel.bases.push_back({2 + k - 1, false});
    kernel.bases.push_back(k < 9 ? Base{2 + k, false} : Base{1, false});
    kernel.bases.push_back({0, false});
    kernel.bases.push_back({7, true});  // an index: no memory
    draft.kernels.push_back(kernel);
    if (k < 9) draft.temporaries.push_back(100 + k);
  }
  share_temporaries(draft, 2);
  ASSERT_EQ(draft.temporaries.size(), 2u);
  EXPECT_EQ(draft.temporaries[0] + draft.temporaries[1], 107u + 108u);
  for (std::size_t k = 1; k < 10; ++k) {
    const std::uint32_t read = draft.kernels[k].bases[0].number, written = draft.kernels[k].bases[1].number;
    EXPECT_NE(read, written) << k;
    EXPECT_EQ(read, draft.kernels[k - 1].bases[k == 1 ? 0 : 1].number) << "what the kernel before wrote";
    EXPECT_EQ(draft.kernels[k].bases[3].number, 7u);
  }
}

/// A value that is read at the end keeps its memory until then.
TEST(Temporaries, LongLivedValuesKeepTheirMemory) {
  Draft draft;
  draft.temporaries = {64, 64, 64};
  for (const std::vector<std::uint32_t>& numbers : std::vector<std::vector<std::uint32_t>>{{1}, {2}, {2, 3}, {1, 3}}) {
    DraftKernel kernel;
    for (const std::uint32_t number : numbers) kernel.bases.push_back({number, false});
    draft.kernels.push_back(kernel);
  }
  share_temporaries(draft, 1);
  EXPECT_EQ(draft.temporaries.size(), 3u);
}

}  // namespace
}  // namespace kiln::dsl
