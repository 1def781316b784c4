// tests/golden/candidate_compile_test.cpp -- what NVRTC makes of a tuner's candidates: the same operations per element.
#include <regex>

#include <gtest/gtest.h>

#include "codegen/schedule/candidates.h"
#include "tests/golden/compiled.h"
#include "tests/golden/kernels.h"

namespace kiln::golden {
namespace {

using codegen::IndexWidth;
using codegen::Kernel;
using codegen::NodeId;

int count(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  return static_cast<int>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), expression), std::sregex_iterator()));
}

/// x + s * t: the product is one for all elements.
Kernel sum_with_product() {
  Builder b(1, IndexWidth::bits32, "x + s * t");
  const NodeId x = b.load(DType::f32, "c"), s = b.parameter(DType::f32), t = b.parameter(DType::f32);
  b.store(b.op(Op::add, {x, b.op(Op::mul, {s, t})}), "c");
  return b.finish();
}

/// x * y + s * t - y * t: either product beside an addition could be fused.
Kernel sum_of_products() {
  Builder b(1, IndexWidth::bits32, "x * y + s * t - y * t");
  const NodeId x = b.load(DType::f32, "c"), y = b.load(DType::f32, "c");
  const NodeId s = b.parameter(DType::f32), t = b.parameter(DType::f32);
  const NodeId sum = b.op(Op::add, {b.op(Op::mul, {x, y}), b.op(Op::mul, {s, t})});
  b.store(b.op(Op::sub, {sum, b.op(Op::mul, {y, t})}), "c");
  return b.finish();
}

/// x - (c * s), where c is one number per row.
Kernel sum_with_row_product() {
  Builder b(2, IndexWidth::bits32, "x - c * s");
  const NodeId x = b.load(DType::f32, "sc"), c = b.load(DType::f32, "cb", 4), s = b.parameter(DType::f32);
  b.store(b.op(Op::sub, {x, b.op(Op::mul, {c, s})}), "sc");
  return b.finish();
}

struct Operations {
  double fused = 0, added = 0;  ///< per element
  friend bool operator==(const Operations&, const Operations&) = default;
};

// Rule: how often a product is fused with an addition does not depend on the elements of a thread (NVRTC fuses a value
// that is used four times and does not fuse one that is used eight times).
void expect_same_operations(const Kernel& kernel, std::vector<std::int64_t> extents) {
  const codegen::Extents loop{std::move(extents)};
  const auto candidates =
      codegen::tuning_candidates(kernel, loop, codegen::choose_schedule(kernel, loop, device()), device(), 12, false);
  ASSERT_GE(candidates.size(), 6u);
  Operations expected;
  bool several = false;
  for (const codegen::Candidate& candidate : candidates) {
    if (candidate.schedule.grid > 0) continue;  // a loop, which NVRTC may unroll
    KILN_COMPILED_OR_SKIP(binary, codegen::emit_cuda(kernel, candidate.schedule, {}), "sm_90");
    const double elements = candidate.schedule.vector * candidate.schedule.items;
    const Operations found{count(binary->ptx, R"(\bfma\.rn\.f32)") / elements,
                           count(binary->ptx, R"(\b(add|sub)(\.rn)?\.f32)") / elements};
    if (&candidate == candidates.data()) expected = found;
    several |= elements >= 8;
    EXPECT_EQ(found.fused, expected.fused) << candidate.name;
    EXPECT_EQ(found.added, expected.added) << candidate.name;
  }
  EXPECT_TRUE(several);
}

TEST(Candidates, FuseProductsOfScalarsAlike) { expect_same_operations(sum_with_product(), {1 << 27}); }
TEST(Candidates, FuseSumsOfProductsAlike) { expect_same_operations(sum_of_products(), {1 << 27}); }
TEST(Candidates, FuseProductsPerRowAlike) { expect_same_operations(sum_with_row_product(), {16384, 8192}); }

}  // namespace
}  // namespace kiln::golden
