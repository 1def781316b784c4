// tests/unit/dsl/inspect_test.cpp -- inspect() compiles without running and says what was decided.
#include <kiln/inspect.h>
#include <kiln/kiln.h>

#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <kiln/error.h>

#include "dsl/session.h"
#include "tests/support/cpu_compiler.h"
#include "tests/unit/dsl/call.h"

namespace kiln::dsl {
namespace {

using namespace test;

TestCall product_call(const CpuArray& x, const CpuArray& row, Handle* result) {
  return {{x.handle, row.handle},
          {},
          {{result, DType::f32, true}},
          [](Recorder& r, NodeId* out) {
            out[0] = operation(r, Op::mul, DType::f32,
                               {detail::record_input(r, 0, DType::f32), detail::record_input(r, 1, DType::f32)});
          },
          {}};
}

class Inspect : public testing::Test {
 protected:
  void SetUp() override { set_current_device({runtime::DeviceKind::cpu, 0}); }
  CpuArray x{DType::f32, {32, 64}}, row{DType::f32, {64}};
  Handle result;
  OwnedSite site;
};

TEST_F(Inspect, TellsKernelScheduleAndBytesOnTheCpu) {
  KILN_NEEDS_CPU_COMPILER();
  const TestCall call = product_call(x, row, &result);
  const Inspection info(detail::inspect(site, call.call(), nullptr));
  ASSERT_EQ(info.kernels.size(), 1u);
  EXPECT_EQ(info.kernels[0].bytes_moved, (32 * 64 + 64 + 32 * 64) * 4) << "each operand once, the row once";
  EXPECT_TRUE(info.kernels[0].source.contains("define"));
  EXPECT_TRUE(info.kernels[0].sass.contains("ret")) << "assembly, made when it is asked for";
  EXPECT_TRUE(info.explain().contains("1 kernel"));
  EXPECT_TRUE(info.explain().contains("user.cpp:12"));
  EXPECT_TRUE(info.graph.contains("mul"));
  EXPECT_TRUE(info.dot.contains("digraph"));
  EXPECT_EQ(result.layout, nullptr) << "nothing ran";
}

TEST_F(Inspect, PrintsWhatItExplains) {
  KILN_NEEDS_CPU_COMPILER();
  const TestCall call = product_call(x, row, &result);
  const Inspection info(detail::inspect(site, call.call(), nullptr));
  std::ostringstream printed;
  printed << info;
  EXPECT_EQ(printed.str(), std::string(info.explain()));
}

// Rule: what std::string's functions of these names return.
TEST(Text, FindsAndTakesPartsAsStringsDo) {
  const std::string same = "kernel 1: add, kernel 2: mul";
  const Text text(same.c_str());
  for (const char* part : {"kernel", "2: m", "mul", "div", ""}) {
    for (const std::size_t from : {0u, 1u, 20u, 28u, 29u}) EXPECT_EQ(text.find(part, from), same.find(part, from));
  }
  EXPECT_EQ(Text::npos, std::string::npos);
  EXPECT_TRUE(text.contains("add"));
  EXPECT_FALSE(text.contains("sub"));
  for (const std::size_t from : {0u, 10u, 28u}) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{3}, Text::npos}) {
      const std::string part = text.substr(from, count);
      EXPECT_EQ(part, same.substr(from, count));
    }
  }
  EXPECT_EQ(text.substr(40).size(), 0u);
  EXPECT_TRUE(text.substr(10, 3) == "add");
  EXPECT_FALSE(text.substr(10, 2) == "add");
  const std::string_view view = text, part = text.substr(10, 3);
  EXPECT_EQ(view, same);
  EXPECT_EQ(part, "add");
  EXPECT_EQ(std::string(text), same);
  std::ostringstream printed;
  printed << text.substr(10, 3) << text;
  EXPECT_EQ(printed.str(), "add" + same);
}

TEST_F(Inspect, GeneratesCodeForArchitecturesThatAreNotHere) {
  const TestCall call = product_call(x, row, &result);
  for (const char* arch : {"sm_80", "sm_90"}) {
    try {
      const Inspection info(detail::inspect(site, call.call(), arch));
      ASSERT_EQ(info.kernels.size(), 1u);
      EXPECT_TRUE(info.kernels[0].source.contains("__global__"));
      EXPECT_TRUE(info.kernels[0].ptx.contains(".entry"));
      EXPECT_GT(info.kernels[0].registers, 0);
      EXPECT_EQ(info.kernels[0].spills, 0);
      EXPECT_GT(info.kernels[0].occupancy, 0.1);
      EXPECT_LE(info.kernels[0].occupancy, 1.0);
      EXPECT_GT(info.kernels[0].launch.block[0], 0u);
    } catch (const CompileError& error) {
      // Only a missing NVRTC excuses.
      ASSERT_NE(std::string(error.what()).find("NVRTC"), std::string::npos) << error.what();
      GTEST_SKIP() << error.what();
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
  }
}

TEST_F(Inspect, SaysWhyThereAreTwoKernelsAndATemporary) {
  KILN_NEEDS_CPU_COMPILER();
  Handle second, whole = x.handle;
  TestCall call = product_call(x, row, &result);
  call.targets = {{&whole, DType::f32, true}, {&second, DType::f32, true}};
  call.function = [](Recorder& r, NodeId* out) {
    const NodeId in = detail::record_input(r, 0, DType::f32), other = detail::record_input(r, 1, DType::f32);
    const std::int64_t item[] = {detail::slice_is_index | detail::slice_has_start, 3, 0, 1};
    out[0] = operation(r, Op::add, DType::f32, {in, other});
    out[1] = detail::record_view(r, in, static_cast<int>(detail::ViewKind::slice), item, 4, {});
  };
  const Inspection info(detail::inspect(site, call.call(), nullptr));
  EXPECT_EQ(info.kernels.size(), 3u) << "two shapes and one copy";
  EXPECT_TRUE(info.explain().contains("different shapes"));
  EXPECT_TRUE(info.explain().contains("temporary"));
}

/// One kernel reads and writes 256 arrays at most: 255 operands and a sum; the sum, 254 more and their sum; the rest.
TEST_F(Inspect, MoreOperandsThanOneKernelTakesAreSeveralKernels) {
  try {  // only a missing NVRTC excuses
    jit([](auto v) { return v + 1; }).inspect_for("sm_90", Array<float>({4}));
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  for (const unsigned count : {255u, 256u, 600u}) {
    std::vector<CpuArray> arrays;
    TestCall call{{}, {}, {{&result, DType::f32, true}}, {}, {}};
    for (unsigned i = 0; i < count; ++i) {
      arrays.emplace_back(DType::f32, std::vector<std::int64_t>{2});
      call.inputs.push_back(arrays.back().handle);
    }
    call.function = [&](Recorder& r, NodeId* out) {
      out[0] = detail::record_input(r, 0, DType::f32);
      for (unsigned i = 1; i < count; ++i)
        out[0] = operation(r, Op::add, DType::f32, {out[0], detail::record_input(r, i, DType::f32)});
    };
    OwnedSite own;
    const Inspection info(detail::inspect(own, call.call(), "sm_90"));
    EXPECT_EQ(info.kernels.size(), count == 255 ? 1u : count == 256 ? 2u : 3u) << count;
    EXPECT_EQ(info.explain().contains("operands and results are more than the 256 of one kernel"), count > 255);
    for (const KernelInfo& kernel : info.kernels) EXPECT_EQ(kernel.spills, 0) << kernel.name.c_str();
  }
}

TEST_F(Inspect, UnknownArchitectureSaysWhatToWrite) {
  const TestCall call = product_call(x, row, &result);
  EXPECT_THROW(detail::inspect(site, call.call(), "hopper"), DeviceError);
}

}  // namespace
}  // namespace kiln::dsl
