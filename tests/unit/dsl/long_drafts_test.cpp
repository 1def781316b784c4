// tests/unit/dsl/long_drafts_test.cpp -- whole plans of long expressions: work that grows with their length and no
// faster, depth that needs no stack, arguments within what a launch may pass.
#include <gtest/gtest.h>
#include <kiln/kiln.h>

#include <functional>

#include "dsl/drafting.h"
#include "dsl/session.h"
#include "tests/support/long_expressions.h"
#include "tests/unit/dsl/call.h"

namespace kiln::dsl {
namespace {

using namespace test;
using Value = Sym<float>;
using Build = std::function<Value(const std::vector<Value>&)>;

const auto number = [](int i) { return lit(static_cast<float>(i) + 0.5f); };

/// What the stages make of an expression, in things that can be counted.
struct Amounts {
  std::size_t trace_nodes = 0, body_nodes = 0, kernels = 0, text_bytes = 0, temporary_bytes = 0;
  std::uint32_t argument_bytes = 0;  ///< of the kernel that takes most
};

class LongDrafts : public testing::Test {
 protected:
  void SetUp() override { set_current_device({runtime::DeviceKind::cpu, 0}); }

  static Amounts amounts(const Build& build, const Machine& machine, unsigned scalars = 0,
                         const std::vector<std::int64_t>& shape = {16, 32}) {
    constexpr unsigned inputs = 4;
    std::vector<CpuArray> arrays;
    TestCall call;
    for (unsigned k = 0; k < inputs; ++k) {
      arrays.emplace_back(DType::f32, shape);
      call.inputs.push_back(arrays.back().handle);
    }
    for (unsigned k = 0; k < scalars; ++k) call.scalars.push_back(scalar(1.0f));
    Handle result;
    call.targets = {{&result, DType::f32, true}};
    call.function = [&](Recorder& recorder, NodeId* out) {
      std::vector<Value> x;
      for (unsigned k = 0; k < inputs; ++k) x.emplace_back(recorder, detail::record_input(recorder, k, DType::f32));
      out[0] = build(x).node_as(DType::f32, {});
    };
    const std::shared_ptr<const Trace> trace = record(call.call());
    const Draft draft = dsl::draft(*trace, call.call(), {}, machine);
    Amounts result_amounts{trace->graph.size(), 0, draft.kernels.size(), 0, 0, 0};
    for (const DraftKernel& kernel : draft.kernels) {
      result_amounts.body_nodes += kernel.kernel.body.size();
      result_amounts.text_bytes += emit(kernel.kernel, kernel.schedule, machine, {}).text.size();
      result_amounts.argument_bytes =
          std::max(result_amounts.argument_bytes, codegen::argument_layout(kernel.kernel).size);
    }
    for (const std::uint64_t bytes : draft.temporaries) result_amounts.temporary_bytes += bytes;
    return result_amounts;
  }
};

Value reductions(const std::vector<Value>& x, int operations) {
  Value y = x[0];
  for (int i = 0; i < operations / 3; ++i)
    y = y + sum(x[static_cast<std::size_t>(i) % x.size()] * number(i), -1, keepdims);
  return y;
}

Value softmaxes(const std::vector<Value>& x, int operations) {
  Value y = x[0];
  for (int i = 0; i < operations / 5; ++i) {
    const auto e = exp(y - max(y, -1, keepdims));
    y = e / sum(e, -1, keepdims);
  }
  return y;
}

Value functions(const std::vector<Value>& x, int operations) {
  static std::vector<std::string> texts;
  texts.clear();
  texts.reserve(static_cast<std::size_t>(operations));
  Value y = x[0];
  for (int i = 0; i < operations; ++i) {
    texts.push_back("return a + " + std::to_string(i) + ".f * b;");
    const auto f =
        function<float(float, float)>("f", {"a", "b"}, texts.back().c_str(), [](float a, float b) { return a + b; });
    y = f(y, x[static_cast<std::size_t>(i) % x.size()]);
  }
  return y;
}

/// Ten times the operations: ten times the nodes, text and, where it is cut, kernels; never a hundred times.
TEST_F(LongDrafts, WorkIsLinear) {
  const std::pair<const char*, std::function<Value(const std::vector<Value>&, int)>> families[] = {
      {"chain", [](const auto& x, int n) { return long_expressions::chain(x, n, number); }},
      {"tree", [](const auto& x, int n) { return long_expressions::tree(x, n, number); }},
      {"shared", [](const auto& x, int n) { return long_expressions::shared(x, n, number); }},
      {"waiting", [](const auto& x, int n) { return long_expressions::waiting(x, n, number); }},
      {"reductions", reductions},
      {"softmaxes", softmaxes},
      {"functions", functions}};
  for (const char* arch : {"sm_90", "cpu"}) {
    const Machine machine = machine_of_arch(arch);
    for (const auto& [name, build] : families) {
      const Amounts small = amounts([&, &make = build](const auto& x) { return make(x, 1000); }, machine);
      const Amounts large = amounts([&, &make = build](const auto& x) { return make(x, 10000); }, machine);
      EXPECT_LE(large.trace_nodes, 11 * small.trace_nodes) << name << ' ' << arch;
      EXPECT_LE(large.body_nodes, 13 * small.body_nodes) << name << ' ' << arch;
      EXPECT_LE(large.text_bytes, 13 * small.text_bytes) << name << ' ' << arch;
      EXPECT_LE(large.kernels, 13 * small.kernels) << name << ' ' << arch;
    }
  }
}

/// A hundred thousand operations, one after another: captured, planned, printed and destroyed without recursion.
TEST_F(LongDrafts, AChainOfAHundredThousand) {
  for (const char* arch : {"sm_90", "cpu"}) {
    const Amounts a =
        amounts([](const auto& x) { return long_expressions::chain(x, 100000, number); }, machine_of_arch(arch));
    EXPECT_GE(a.body_nodes, 100000u);
    EXPECT_LE(a.body_nodes, 101000u);
    EXPECT_GE(a.kernels, 2u);
    EXPECT_LE(a.kernels, 14u) << arch;
    EXPECT_EQ(a.temporary_bytes, 2u * 16 * 32 * 4) << "one value passes from kernel to kernel, in two buffers";
  }
}

/// Scalars are arguments: 4 bytes each, beside an operand, a result and an extent of 8 bytes.
TEST_F(LongDrafts, ArgumentsAtTheLimitOfALaunch) {
  for (const int limit : {4096, 32764}) {
    Machine machine = machine_of_arch("sm_90");
    machine.traits.argument_bytes = limit;
    const unsigned most = static_cast<unsigned>(limit - 8 - 8 - 8) / 4;
    for (const unsigned count : {most - 1, most, most + 1}) {
      const Amounts a = amounts(
          [&](const auto& x) {
            Value y = x[0];
            for (unsigned k = 0; k < count; ++k) y = y + WeakSym<float>::argument(x[0].recorder(), k);
            return y;
          },
          machine, count, {512});
      EXPECT_EQ(a.kernels, count <= most ? 1u : 2u) << count << " scalars, limit " << limit;
      EXPECT_LE(a.argument_bytes, static_cast<std::uint32_t>(limit));
    }
  }
}

}  // namespace
}  // namespace kiln::dsl
