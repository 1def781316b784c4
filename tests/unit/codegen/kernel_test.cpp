// tests/unit/codegen/kernel_test.cpp -- the argument block and the structural identity of kernels.
#include <gtest/gtest.h>

#include "codegen/ir/kernel.h"
#include "codegen/pass/builder.h"

namespace kiln::codegen {
namespace {

Access access(DType type, std::vector<AxisClass> axes, bool store = false) {
  Access result;
  result.type = type;
  result.axes = std::move(axes);
  result.store = store;
  return result;
}

/// A rank-3 kernel with every kind of argument: two loads, an iota, a store, scalars of four sizes.
Kernel sample() {
  constexpr AxisClass c = AxisClass::contiguous, s = AxisClass::strided, none = AxisClass::broadcast;
  Kernel kernel;
  kernel.rank = 3;
  kernel.accesses = {access(DType::f32, {s, s, c}), access(DType::f32, {none, none, s}),
                     access(DType::i64, {none, s, c}), access(DType::f32, {s, s, c}, true)};
  kernel.accesses[2].iota = true;
  kernel.parameters = {DType::b1, DType::f64, DType::f16, DType::c128, DType::i16};
  Builder b(kernel.body);
  kernel.body.outputs = {b.add(kernel.body.load(0, DType::f32), kernel.body.load(1, DType::f32))};
  return kernel;
}

const Argument* find(const ArgumentLayout& layout, ArgumentKind kind, unsigned a, unsigned axis) {
  for (const Argument& argument : layout.arguments) {
    if (argument.kind == kind && argument.a == a && argument.axis == axis) return &argument;
  }
  return nullptr;
}

TEST(ArgumentLayout, FieldsAreNaturallyAlignedDisjointAndInOrder) {
  for (const IndexWidth width : {IndexWidth::bits32, IndexWidth::bits64}) {
    Kernel kernel = sample();
    kernel.index = width;
    const ArgumentLayout layout = argument_layout(kernel);
    std::uint32_t end = 0;
    ArgumentKind last = ArgumentKind::pointer;
    for (const Argument& argument : layout.arguments) {
      const std::uint32_t alignment =
          argument.kind == ArgumentKind::divisor ? 4 : std::min<std::uint32_t>(argument.size, 8);
      EXPECT_EQ(argument.offset % alignment, 0u);
      EXPECT_GE(argument.offset, end);
      EXPECT_GE(argument.kind, last);
      end = argument.offset + argument.size;
      last = argument.kind;
    }
    EXPECT_GE(layout.size, end);
    EXPECT_EQ(layout.size % 8, 0u);
  }
}

TEST(ArgumentLayout, HoldsExactlyWhatTheKernelReads) {
  const ArgumentLayout layout = argument_layout(sample());
  EXPECT_TRUE(find(layout, ArgumentKind::pointer, 0, 0));
  EXPECT_TRUE(find(layout, ArgumentKind::pointer, 3, 0));
  EXPECT_FALSE(find(layout, ArgumentKind::pointer, 2, 0)) << "an iota has no memory";
  EXPECT_TRUE(find(layout, ArgumentKind::offset, 2, 0));
  EXPECT_FALSE(find(layout, ArgumentKind::offset, 0, 0));
  for (unsigned axis = 0; axis < 3; ++axis) EXPECT_TRUE(find(layout, ArgumentKind::extent, 0, axis));
  EXPECT_TRUE(find(layout, ArgumentKind::stride, 0, 1));
  EXPECT_TRUE(find(layout, ArgumentKind::stride, 1, 2));
  EXPECT_FALSE(find(layout, ArgumentKind::stride, 0, 2)) << "contiguous axes have no stride argument";
  EXPECT_FALSE(find(layout, ArgumentKind::stride, 1, 0)) << "broadcast axes have no stride argument";
  EXPECT_FALSE(find(layout, ArgumentKind::divisor, 0, 0)) << "the outermost extent never divides";
  EXPECT_TRUE(find(layout, ArgumentKind::divisor, 0, 1));
  EXPECT_TRUE(find(layout, ArgumentKind::divisor, 0, 2));
  EXPECT_EQ(find(layout, ArgumentKind::parameter, 0, 0)->size, 1u);
  EXPECT_EQ(find(layout, ArgumentKind::parameter, 2, 0)->size, 4u) << "f16 scalars arrive as f32";
  EXPECT_EQ(find(layout, ArgumentKind::parameter, 3, 0)->size, 16u);
  EXPECT_EQ(layout.arguments.size(), 3u + 1 + 3 + (2 + 1 + 1 + 2) + 2 + 5);
}

TEST(ArgumentLayout, SixtyFourBitIndicesWidenExtentsAndStridesAndNeedNoDivisors) {
  Kernel kernel = sample();
  kernel.index = IndexWidth::bits64;
  const ArgumentLayout layout = argument_layout(kernel);
  EXPECT_EQ(find(layout, ArgumentKind::extent, 0, 0)->size, 8u);
  EXPECT_EQ(find(layout, ArgumentKind::stride, 0, 0)->size, 8u);
  EXPECT_FALSE(find(layout, ArgumentKind::divisor, 0, 1));
}

TEST(ArgumentLayout, AScalarKernelHasPointersOnly) {
  Kernel kernel;
  kernel.accesses = {access(DType::f32, {}), access(DType::f32, {}, true)};
  const ArgumentLayout layout = argument_layout(kernel);
  EXPECT_EQ(layout.arguments.size(), 2u);
  EXPECT_EQ(layout.size, 16u);
}

TEST(Kernel, FirstStoreFollowsTheLoads) { EXPECT_EQ(sample().first_store(), 3u); }

TEST(KernelKey, ChangesWithEverythingThatChangesCodeAndNothingElse) {
  const std::string key = kernel_key(sample());
  Kernel kernel = sample();
  kernel.comment = "another expression text";
  EXPECT_EQ(kernel_key(kernel), key);
  const auto changed = [&](auto edit) {
    Kernel other = sample();
    edit(other);
    return kernel_key(other) != key;
  };
  EXPECT_TRUE(changed([](Kernel& k) { k.index = IndexWidth::bits64; }));
  EXPECT_TRUE(changed([](Kernel& k) { k.accesses[0].alignment = 16; }));
  EXPECT_TRUE(changed([](Kernel& k) { k.accesses[0].aliased = true; }));
  EXPECT_TRUE(changed([](Kernel& k) { k.accesses[1].type = DType::f64; }));
  EXPECT_TRUE(changed([](Kernel& k) { k.accesses[0].axes[0] = AxisClass::broadcast; }));
  EXPECT_TRUE(changed([](Kernel& k) { k.parameters[1] = DType::f32; }));
  EXPECT_TRUE(changed([](Kernel& k) { k.body.outputs = {k.body.load(0, DType::f32)}; }));
  EXPECT_TRUE(changed([](Kernel& k) { k.accesses[0].dense_alignment = 16; }));
  EXPECT_TRUE(changed([](Kernel& k) { k.rank = 2; }));
}

TEST(KernelKey, TellsSignedZerosApart) {
  Kernel plus = sample(), minus = sample();
  plus.body.outputs = {plus.body.literal_value(DType::f32, 0.0)};
  minus.body.outputs = {minus.body.literal_value(DType::f32, -0.0)};
  EXPECT_NE(kernel_key(plus), kernel_key(minus));
}

}  // namespace
}  // namespace kiln::codegen
