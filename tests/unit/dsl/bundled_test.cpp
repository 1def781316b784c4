// tests/unit/dsl/bundled_test.cpp -- plans of cards that no bundle was built for: the typical card's, if that is there.
#include <gtest/gtest.h>

#include "dsl/bundled.h"
#include "dsl/usage.h"
#include "runtime/bundle/bundle.h"
#include "runtime/compile_mode.h"
#include "runtime/kernel_identity.h"
#include "runtime/loaded_bundles.h"
#include "runtime/recorder.h"
#include "support/check.h"
#include "tests/unit/dsl/call.h"
#include "tests/unit/temporary.h"

namespace kiln::dsl {
namespace {

using namespace test;

constexpr runtime::DeviceId cpu{runtime::DeviceKind::cpu, 0};

/// Sums along the last axis.
Function row_sum() {
  return [](Recorder& r, NodeId* out) {
    using detail::ReductionCall;
    const NodeId x = detail::record_input(r, 0, DType::f32);
    ReductionCall call;
    call.bits = ReductionCall::named | std::uint64_t{1} << ReductionCall::count_shift |
                static_cast<std::uint64_t>(detail::Reducing::sum) << ReductionCall::function_shift | 0xf;
    out[0] = detail::record_reduction(r, call, DType::f32, &x, 1, {"user.cpp", 12});
  };
}

class BundledPlans : public ::testing::Test {
 protected:
  BundledPlans() { reset(); }
  ~BundledPlans() override { reset(); }
  static void reset() {
    runtime::reset_recorder();
    runtime::reset_bundles();
    runtime::set_compile_mode(runtime::CompileMode::automatic);
  }

  /// Few long rows: blocks share them on a large card and not on a small one, so the texts differ.
  void make_call(TestCall& call) {
    call.function = row_sum();
    call.inputs = {x.handle};
    call.targets = {{&sums.handle, DType::f32, false}};
  }
  /// 8.0's and 9.0's kernels of the call, with images that are none.
  void load_bundle_of(const Trace& trace, const TestCall& call, const std::vector<std::string>& targets) {
    const std::string record = directory.path + "/trace.kiln", bundle = directory.path + "/app.klb";
    {
      const kiln::test::Variable recording("KILN_RECORD", record.c_str());
      runtime::reset_recorder();
      record_call(trace, call.call(), cpu);
    }
    runtime::RecordSet set;
    set.add_file(record);
    runtime::BundleWriter writer;
    for (const runtime::RecordedKernel& kernel : set.kernels()) {
      for (const std::string& target : targets) {
        if (std::find(kernel.targets.begin(), kernel.targets.end(), target) == kernel.targets.end()) continue;
        runtime::BundleKernel entry;
        entry.identity = kernel.identity;
        entry.identity_version = runtime::kernel_identity_version;
        entry.target = target;
        entry.entry = kernel.source.entry;
        entry.title = kernel.title;
        writer.add(entry, "image");
      }
    }
    ASSERT_GT(writer.kernel_count(), 0u);
    writer.write(bundle);
    runtime::load_bundle(bundle);
  }

  kiln::test::TemporaryDirectory directory;
  CpuArray x{DType::f32, {100, 200000}}, sums{DType::f32, {100}};
};

Machine card(const std::string& arch, int multiprocessors) {
  Machine machine = machine_of_arch(arch);
  machine.device = cpu;  // where the operands are
  machine.traits.multiprocessors = multiprocessors;
  return machine;
}

TEST_F(BundledPlans, ASmallCardTakesThePlanOfTheTypicalOne) {
  TestCall call;
  make_call(call);
  const std::shared_ptr<const Trace> trace = record(call.call());
  const Machine small = card("sm_90", 20), typical = card("sm_90", 132);
  const std::string own = plan_call(*trace, call.call(), cpu, small).draft.kernels[0].schedule.key();
  const std::string common = plan_call(*trace, call.call(), cpu, typical).draft.kernels[0].schedule.key();
  ASSERT_NE(own, common) << "the case must depend on the number of multiprocessors";
  load_bundle_of(*trace, call, {"sm_90"});
  runtime::set_compile_mode(runtime::CompileMode::bundle_only);
  EXPECT_EQ(plan_call(*trace, call.call(), cpu, typical).draft.kernels[0].schedule.key(), common);
  const PlannedCall planned = plan_call(*trace, call.call(), cpu, small);
  EXPECT_EQ(planned.draft.kernels[0].schedule.key(), common);
  EXPECT_EQ(planned.machine.traits.multiprocessors, 132);
  EXPECT_EQ(planned.machine.arch, "sm_90") << "images are chosen for the card that is there";
  // What may be compiled is planned for the card itself only where the bundle has nothing.
  runtime::set_compile_mode(runtime::CompileMode::automatic);
  EXPECT_EQ(plan_call(*trace, call.call(), cpu, small).draft.kernels[0].schedule.key(), common);
  runtime::set_compile_mode(runtime::CompileMode::jit_only);
  EXPECT_EQ(plan_call(*trace, call.call(), cpu, small).draft.kernels[0].schedule.key(), own);
}

/// A later minor version plans as the architecture of the image does; the miss of another major one names the user's
/// line.
TEST_F(BundledPlans, OtherArchitecturesPlanAsTheImagesOrFail) {
  TestCall call;
  make_call(call);
  const std::shared_ptr<const Trace> trace = record(call.call());
  load_bundle_of(*trace, call, {"sm_80"});
  runtime::set_compile_mode(runtime::CompileMode::bundle_only);
  const PlannedCall planned = plan_call(*trace, call.call(), cpu, card("sm_86", 28));
  EXPECT_EQ(planned.machine.traits.multiprocessors, 108);
  EXPECT_EQ(planned.machine.traits.compute_capability, 80);
  try {
    plan_call(*trace, call.call(), cpu, card("sm_90", 132));
    FAIL() << "planned without a kernel";
  } catch (const CompileError& error) {
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with("kernel kiln_")) << message;
    EXPECT_NE(message.find(" of an expression (user.cpp:12) is in no bundle for sm_90"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace kiln::dsl
