// tests/golden/pipeline_test.cpp -- every operation on every type, through the whole pass pipeline, is CUDA that NVRTC
// takes.
#include <gtest/gtest.h>

#include "codegen/ir/op_info.h"
#include "codegen/pass/passes.h"
#include "tests/golden/compiled.h"
#include "tests/golden/kernels.h"

namespace kiln::golden {
namespace {

using codegen::NodeId;
using codegen::NodeKind;

/// One kernel with an output for every operation that the table accepts for `type`, split in parts to keep compiles
/// short.
KernelSource every_operation(DType type, int part, int parts) {
  Builder b(1, codegen::IndexWidth::bits32, std::string("every operation of ") + name_of(type));
  const int alignment = static_cast<int>(size_of(real_of(type)));
  const NodeId loads[] = {b.load(type, "c", alignment), b.load(type, "c", alignment), b.load(type, "c", alignment)};
  const NodeId condition = b.load(DType::b1, "c", 1);
  for (int index = part; index < op_count; index += parts) {
    const auto op = static_cast<Op>(index);
    const auto arity = static_cast<std::size_t>(kiln::detail::op_info(op).arity);
    std::vector<DType> types(arity, type);
    std::vector<NodeId> operands(loads, loads + arity);
    if (op == Op::where) types[0] = DType::b1, operands[0] = condition;
    const codegen::TypeRule rule = codegen::type_rule(op, types);
    if (!rule.error.empty()) continue;
    for (std::size_t i = op == Op::where ? 1 : 0; i < arity; ++i) operands[i] = b.cast(operands[i], rule.operand);
    b.store(b.kernel.body.operation(op, rule.result, operands), "c", 1);
  }
  codegen::Kernel kernel = b.finish();
  kernel.body = codegen::run_pipeline(kernel.body, {});
  const codegen::Extents extents{{1000}};
  codegen::Schedule schedule = codegen::choose_schedule(kernel, extents, device());
  schedule.vector = schedule.items = 1;
  schedule.min_blocks = 0;
  return codegen::emit_cuda(kernel, schedule, {});
}

class Pipeline : public ::testing::TestWithParam<int> {};

TEST_P(Pipeline, EveryOperationCompilesWithoutWarnings) {
  constexpr int parts = 3;
  for (int part = 0; part < parts; ++part) {
    KILN_COMPILED_OR_SKIP(binary, every_operation(static_cast<DType>(GetParam()), part, parts), "sm_90");
    EXPECT_EQ(binary->log, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Pipeline, ::testing::Range(0, dtype_count),
                         [](const auto& test) { return std::string(name_of(static_cast<DType>(test.param))); });

/// Every pair of types that a user may cast between, and Philox.
TEST(PipelineCasts, EveryPairCompilesWithoutWarnings) {
  for (int from = 0; from < dtype_count; ++from) {
    Builder b(1, codegen::IndexWidth::bits32, "casts");
    const auto source = static_cast<DType>(from);
    const NodeId x = b.load(source, "c", static_cast<int>(size_of(real_of(source))));
    for (int to = 0; to < dtype_count; ++to) {
      if (is_complex(source) && !is_complex(static_cast<DType>(to))) continue;
      b.store(b.cast(x, static_cast<DType>(to)), "c", 1);
    }
    codegen::Kernel kernel = b.finish();
    kernel.body = codegen::run_pipeline(kernel.body, {});
    const codegen::Schedule schedule = codegen::choose_schedule(kernel, codegen::Extents{{1001}}, device());
    KILN_COMPILED_OR_SKIP(binary, codegen::emit_cuda(kernel, schedule, {}), "sm_90");
    EXPECT_EQ(binary->log, "") << name_of(source);
  }
}

}  // namespace
}  // namespace kiln::golden
