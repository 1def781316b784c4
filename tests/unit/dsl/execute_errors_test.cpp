// tests/unit/dsl/execute_errors_test.cpp -- calls that are refused: the message names what, where and what to do, and
// the site stays usable.
#include <gtest/gtest.h>
#include <kiln/error.h>

#include "dsl/session.h"
#include "runtime/runtime.h"
#include "tests/support/cpu_compiler.h"
#include "tests/support/messages.h"
#include "tests/unit/dsl/call.h"

namespace kiln::dsl {
namespace {

using messages::message_of;

using namespace test;

class ExecuteErrors : public testing::Test {
 protected:
  void SetUp() override { set_current_device({runtime::DeviceKind::cpu, 0}); }
};

TEST_F(ExecuteErrors, ScalarsThatDoNotFitThrowAndLeaveTheTarget) {
  KILN_NEEDS_CPU_COMPILER();
  const CpuArray x({4}, std::vector<std::int8_t>{1, 2, 3, 4});
  OwnedSite site;
  Handle result;
  TestCall call{{x.handle},
                {scalar(300)},
                {{&result, DType::i8, true}},
                [](Recorder& r, NodeId* out) {
                  out[0] =
                      operation(r, Op::add, DType::i8,
                                {detail::record_input(r, 0, DType::i8), detail::record_parameter(r, 0, DType::i8)});
                },
                {}};
  const std::string text = message_of<TypeError>([&] { call.run(site); });
  for (const char* part : {"300", "i8", "user.cpp:12", "kl::cast"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  EXPECT_EQ(result.layout, nullptr);
  call.scalars = {scalar(100)};
  call.run(site);
  const OwnedHandle owner(result);
  EXPECT_EQ(static_cast<std::int8_t*>(result.data)[3], 104);
}

TEST_F(ExecuteErrors, MismatchedShapesNameTheLineOfThisCall) {
  KILN_NEEDS_CPU_COMPILER();
  const CpuArray a({4, 3}, ramp(12)), b({4, 5}, ramp(20));
  OwnedSite site;
  Handle result;
  TestCall call{{a.handle, a.handle}, {scalar(1.f)}, {{&result, DType::f32, true}}, saxpy(), {}};
  call.run(site);
  const OwnedHandle owner(result);
  call.inputs[1] = b.handle;
  const std::string text = message_of<ShapeError>([&] { call.run(site); });
  for (const char* part : {"(4, 3)", "(4, 5)", "f32", "user.cpp:12"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
}

TEST_F(ExecuteErrors, OperandsOnTwoDevicesAreNamed) {
  const CpuArray x({4}, ramp(4)), y({4}, ramp(4));
  Handle elsewhere = y.handle;
  elsewhere.layout = detail::intern(DType::f32, 1, 0, y.handle.layout->shape, 1, nullptr);
  OwnedSite site;
  Handle result;
  TestCall call{{x.handle, elsewhere}, {scalar(1.f)}, {{&result, DType::f32, true}}, saxpy(), {}};
  const std::string text = message_of<DeviceError>([&] { call.run(site); });
  for (const char* part : {"operand 1", "cuda:0", "cpu", "user.cpp:12", ".to("})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
}

TEST_F(ExecuteErrors, BroadcastDestinationIsRefused) {
  const CpuArray a({3}, ramp(3)), x({4, 3}, ramp(12));
  const std::int64_t to[] = {4, 3};
  Handle stretched = detail::view_of(a.handle, static_cast<int>(detail::ViewKind::broadcast_to), to, 2, {});
  OwnedSite site;
  TestCall call{{x.handle}, {}, {{&stretched, DType::f32, false}}, add_one_to_input0(), {}};
  const std::string text = message_of<ShapeError>([&] { call.run(site); });
  EXPECT_NE(text.find("more than once"), std::string::npos) << text;
}

TEST_F(ExecuteErrors, RecorderRefusesTypesTheTableDoesNotAccept) {
  const CpuArray x({3}, ramp(3));
  OwnedSite site;
  Handle result;
  TestCall call{{x.handle},
                {},
                {{&result, DType::f32, true}},
                [](Recorder& r, NodeId* out) {
                  const NodeId in = detail::record_input(r, 0, DType::f32);
                  out[0] = operation(r, Op::bit_and, DType::f32, {in, in});
                },
                {}};
  const std::string text = message_of<TypeError>([&] { call.run(site); });
  for (const char* part : {"bit_and", "f32", "user.cpp:12"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
}

TEST_F(ExecuteErrors, NegativeExponentsOfIntegersAreRefused) {  // A16
  KILN_NEEDS_CPU_COMPILER();
  const CpuArray x({3}, std::vector<std::int32_t>{2, 3, 117});
  OwnedSite site;
  Handle result;
  TestCall call{{x.handle},
                {scalar(-1)},
                {{&result, DType::i32, true}},
                [](Recorder& r, NodeId* out) {
                  out[0] =
                      operation(r, Op::pow, DType::i32,
                                {detail::record_input(r, 0, DType::i32), detail::record_parameter(r, 0, DType::i32)});
                },
                {}};
  EXPECT_NE(message_of<TypeError>([&] { call.run(site); }).find("-1"), std::string::npos);
  call.scalars = {scalar(3)};
  call.run(site);
  const OwnedHandle owner(result);
  EXPECT_EQ(static_cast<std::int32_t*>(result.data)[2], 117 * 117 * 117);
}

}  // namespace
}  // namespace kiln::dsl
