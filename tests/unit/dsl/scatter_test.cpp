// tests/unit/dsl/scatter_test.cpp -- kernels of scatters: places are i64 whatever the target's elements are.
#include <gtest/gtest.h>
#include <kiln/kiln.h>

#include "dsl/drafting.h"
#include "dsl/layouts.h"
#include "dsl/scatter_trace.h"
#include "runtime/runtime.h"
#include "tests/support/cpu_compiler.h"
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

/// The address of place p, from the first element in memory, is that of the element that the index means.
void expect_addresses(View<std::int32_t> target, int axis) {
  const detail::Handle handle = target.handle();
  const Array<std::int64_t> ids = from_host<std::int64_t>({0, 2, -1, 99, 1, -99});
  ScatterTrace trace;
  trace.target = strided_of(*handle.layout);
  trace.axis = axis;
  trace.type = DType::i32;
  trace.indices.rank = 1;
  trace.indices.extents[0] = 6;
  trace.updates = trace.target.shape;
  trace.updates.extents[axis] = 6;
  const auto& extents = trace.updates.extents;
  const Array<std::int32_t> given = zeros<std::int32_t>({extents[0], extents[1], extents[2]}), values = given.clone();
  const Array<std::int64_t> places = zeros<std::int64_t>({extents[0], extents[1], extents[2]});
  detail::Handle value = values.handle(), to = places.handle();
  detail::Target targets[] = {{&value, DType::i32, false}, {&to, DType::i64, false}};
  static constexpr detail::Instruction id{.kind = detail::Instruction::input, .type = DType::i64};
  static constexpr detail::Instruction update{.kind = detail::Instruction::input, .type = DType::i32};
  const detail::Slot slots[] = {__builtin_bit_cast(detail::Slot, ids.handle()),
                                __builtin_bit_cast(detail::Slot, given.handle())};
  test::OwnedSite site;
  evaluate_places(site, trace, *handle.layout, {&id, &slots[0], 1}, {&update, &slots[1], 1}, targets, nullptr, {});
  const std::int64_t wanted[] = {0, 2, trace.target.shape.extents[axis] - 1, -1, 1, -1};
  const auto* const place = static_cast<const std::int64_t*>(to.data);
  const char* const first = static_cast<const char*>(handle.data) + handle.layout->low;
  std::int64_t at[3], number = 0;
  for (at[0] = 0; at[0] < extents[0]; ++at[0])
    for (at[1] = 0; at[1] < extents[1]; ++at[1])
      for (at[2] = 0; at[2] < extents[2]; ++at[2], ++number) {
        const std::int64_t index = wanted[at[axis]];
        const auto* element = static_cast<const std::int32_t*>(handle.data);
        for (int a = 0; a < 3; ++a) element += (a == axis ? index : at[a]) * handle.layout->strides[a];
        if (index < 0) {
          ASSERT_EQ(place[number], -1) << "axis " << axis;
        } else {
          ASSERT_GE(place[number], 0) << "axis " << axis << ": negative places are dropped";
          ASSERT_EQ(first + place[number] * 4, reinterpret_cast<const char*>(element)) << "axis " << axis;
        }
      }
}

TEST(Scatter, PlacesOfEveryLayoutCountFromItsFirstElementInMemory) {
  const DeviceGuard guard{Device::cpu()};
  KILN_NEEDS_CPU_COMPILER();
  Array<std::int32_t> whole = zeros<std::int32_t>({9, 7, 12});
  for (const int axis : {0, 1, 2}) {
    expect_addresses(whole(all, all, all), axis);
    expect_addresses(whole(range(1, 8, 2), range(none, none, -1), range(0, 12, 3)), axis);
    expect_addresses(whole(range(none, none, -2), all, range(none, none, -1)), axis);
  }
}

}  // namespace
}  // namespace kiln::dsl
