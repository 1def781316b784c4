// tests/unit/dsl/scatter_test.cpp -- kernels of scatters: places are i64 whatever the target's elements are.
#include <gtest/gtest.h>
#include <kiln/kiln.h>

#include "dsl/drafting.h"
#include "runtime/runtime.h"
#include "tests/unit/dsl/call.h"

namespace kiln::dsl {
namespace {

/// target[input 1] joins input 0, where places are as they are given.
DraftKernel scattered(DType type, const Machine& machine) {
  const test::CpuArray updates(type, {300}), places(DType::i64, {300});
  test::CpuArray target(type, {20});
  Trace trace;
  trace.graph.outputs = {trace.graph.input(0, type), trace.graph.input(1, DType::i64)};
  detail::ScatterTarget scatter;
  scatter.rank = 1;
  scatter.shape[0] = 300;
  const detail::Handle inputs[] = {updates.handle, places.handle};
  detail::Target targets[] = {{&target.handle, type, false}, {&target.handle, DType::i64, false}};
  detail::Call call;
  call.inputs = inputs;
  call.input_count = 2;
  call.targets = targets;
  call.target_count = 2;
  call.scatter = &scatter;
  Draft draft = dsl::draft(trace, call, {}, machine);
  return std::move(draft.kernels.at(0));
}

TEST(Scatter, PlacesAreSigned64BitNumbersForEveryElementType) {
  const DeviceGuard guard{Device::cpu()};
  const Machine machine = machine_of_arch("sm_90");
  for (const DType type :
       {DType::i8, DType::u8, DType::u32, DType::i64, DType::u64, DType::bf16, DType::f32, DType::f64, DType::c64}) {
    const DraftKernel kernel = scattered(type, machine);
    const std::size_t store = kernel.kernel.first_store();
    ASSERT_EQ(kernel.kernel.accesses.size(), store + 2) << name_of(type);
    EXPECT_EQ(kernel.kernel.accesses[store].type, type);
    EXPECT_EQ(kernel.kernel.accesses[store + 1].type, DType::i64) << name_of(type);
    const std::string text = emit(kernel.kernel, kernel.schedule, machine, {}).text;
    EXPECT_NE(text.find("  i64 y1["), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace kiln::dsl
