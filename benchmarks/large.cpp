// benchmarks/large.cpp -- how long large expressions take to become kernels: milliseconds by stage, size and device.
//
// Nothing runs, so no GPU is needed: CUDA kernels are compiled for sm_90. Stages: capture (the user's lambda runs);
// plan (shapes, fusion, passes, cuts, schedules), and how much of it the passes are; emission of text; compile by NVRTC
// or LLVM, of equal kernels once.
//
//   large [most operations] [family] [sm_90 | cpu]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <kiln/kiln.h>

#include "codegen/pass/passes.h"
#include "dsl/drafting.h"
#include "dsl/infer.h"
#include "dsl/kernels.h"
#include "dsl/segment.h"
#include "dsl/trace.h"
#include "runtime/runtime.h"
#include "tests/support/long_expressions.h"

namespace {

namespace kl = kiln;
using Value = kl::Sym<float>;
using Build = std::function<Value(const std::vector<Value>&, int)>;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

struct Family {
  const char* name;
  Build build;  ///< so many operations of the inputs
};

constexpr unsigned inputs = 16;
constexpr std::int64_t rows = 64, columns = 1024;

auto number(int i) { return kl::lit(static_cast<float>(i) + 0.5f); }

Value chain(const std::vector<Value>& x, int operations) { return long_expressions::chain(x, operations, number); }
Value tree(const std::vector<Value>& x, int operations) { return long_expressions::tree(x, operations, number); }
Value shared(const std::vector<Value>& x, int operations) { return long_expressions::shared(x, operations, number); }
Value waiting(const std::vector<Value>& x, int operations) { return long_expressions::waiting(x, operations, number); }

Value reductions(const std::vector<Value>& x, int operations) {
  Value y = x[0];
  for (int i = 0; i < operations / 4; ++i)
    y = y + kl::sum(x[static_cast<unsigned>(i) % inputs] * kl::lit(static_cast<float>(i)), -1, kl::keepdims);
  return y;
}

Value softmaxes(const std::vector<Value>& x, int operations) {
  Value y = x[0];
  for (int i = 0; i < operations / 5; ++i) {
    const auto e = kl::exp(y - kl::max(y, -1, kl::keepdims));
    y = e / kl::sum(e, -1, kl::keepdims);
  }
  return y;
}

Value functions(const std::vector<Value>& x, int operations) {
  Value y = x[0];
  static std::vector<std::string> texts;
  texts.reserve(100000);
  for (int i = 0; i < operations; ++i) {
    texts.push_back("return a + " + std::to_string(i) + ".f * b;");
    const auto f = kl::function<float(float, float)>("f", {"a", "b"}, texts.back().c_str(),
                                                     [](float a, float b) { return a + b; });
    y = f(y, x[static_cast<unsigned>(i) % inputs]);
  }
  return y;
}

Value sines(const std::vector<Value>& x, int operations) {
  Value y = x[0];
  for (int i = 0; i < operations / 2; ++i) y = kl::sin(y) + x[static_cast<unsigned>(i) % inputs];
  return y;
}

struct Environment {
  const Family* family;
  int operations;
};

void trace(kl::detail::Recorder& recorder, const void* environment, kl::detail::NodeId* outputs) {
  const auto& [family, operations] = *static_cast<const Environment*>(environment);
  std::vector<Value> x;
  for (unsigned i = 0; i < inputs; ++i) x.emplace_back(recorder, kl::detail::record_input(recorder, i, kl::DType::f32));
  outputs[0] = family->build(x, operations).node_as(kl::DType::f32, {});
}

const kl::dsl::Shape loop = kl::dsl::make_shape("loop", std::vector<std::int64_t>{rows, columns}, {});

double time_of_passes(const kl::codegen::Graph& graph, const kl::dsl::Machine& machine) {
  const std::vector<kl::dsl::Shape> shapes = kl::dsl::infer_shapes(graph, std::vector<kl::dsl::Shape>(inputs, loop));
  std::vector<kl::dsl::Operand> operands;
  for (int i = 0; i < static_cast<int>(inputs); ++i)
    operands.push_back({kl::dsl::contiguous("input", loop, {}), kl::DType::f32, false, i});
  const auto segmentation =
      kl::dsl::segment(graph, shapes, operands, std::vector<kl::dsl::Shape>{loop}, machine.traits);
  const auto begin = Clock::now();
  for (const kl::dsl::Segment& segment : segmentation.segments) kl::codegen::run_pipeline(segment.body.graph, {});
  return milliseconds_since(begin);
}

void measure(const Family& family, int operations, const kl::dsl::Machine& machine) {
  std::vector<kl::Array<float>> arrays;
  std::vector<kl::detail::Handle> handles;
  for (unsigned i = 0; i < inputs; ++i) {
    arrays.push_back(kl::zeros<float>({rows, columns}));
    handles.push_back(arrays.back().handle());
  }
  kl::detail::Handle result;
  kl::detail::Target target{&result, kl::DType::f32, true};
  const Environment environment{&family, operations};
  kl::detail::Call call;
  call.inputs = handles.data();
  call.input_count = inputs;
  call.targets = &target;
  call.target_count = 1;
  call.trace = &trace;
  call.environment = &environment;

  auto begin = Clock::now();
  const auto recorded = kl::dsl::record(call);
  const double capture = milliseconds_since(begin);
  const double passes = time_of_passes(recorded->graph, machine);
  begin = Clock::now();
  const kl::dsl::Draft draft = kl::dsl::draft(*recorded, call, {}, machine);
  const double plan = milliseconds_since(begin);
  begin = Clock::now();
  std::map<std::string, kl::KernelSource> sources;  // equal kernels are one
  std::size_t bytes = 0;
  for (const auto& kernel : draft.kernels) {
    kl::KernelSource source = kl::dsl::emit(kernel.kernel, kernel.schedule, machine, {});
    bytes += source.text.size();
    sources.try_emplace(source.text, source);
  }
  const double emission = milliseconds_since(begin);
  begin = Clock::now();
  int registers = 0, spills = 0;
  for (const auto& [text, source] : sources) {
    const auto binary = kl::runtime::compile(source, kl::dsl::compile_options(machine, {}));
    registers = std::max(registers, binary.registers);
    spills = std::max(spills, binary.spill_bytes);
  }
  const double compile = milliseconds_since(begin);
  std::printf("%-14s %6d %-5s %4zu %4zu %9.1f %9.2f %9.2f %9.2f %9.2f %10.1f %6d %6d\n", family.name, operations,
              machine.traits.cuda ? "cuda" : "cpu", draft.kernels.size(), sources.size(),
              static_cast<double>(bytes) / 1000, capture, plan, passes, emission, compile, registers, spills);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const Family families[] = {
      {"chain", chain},           {"tree", tree},           {"shared", shared},       {"waiting", waiting},
      {"reductions", reductions}, {"softmaxes", softmaxes}, {"functions", functions}, {"sines", sines}};
  const int limit = argc > 1 ? std::atoi(argv[1]) : 10000;
  const char* const only = argc > 2 ? argv[2] : "";
  const kl::DeviceGuard guard(kl::Device::cpu());
  std::printf("%-14s %6s %-5s %4s %4s %9s %9s %9s %9s %9s %10s %6s %6s\n", "family", "ops", "for", "kern", "diff", "KB",
              "capture", "plan", "(passes)", "emission", "compile ms", "regs", "spills");
  for (const char* arch : {"sm_90", "cpu"}) {
    if (argc > 3 && std::strcmp(argv[3], arch)) continue;
    const kl::dsl::Machine machine = kl::dsl::machine_of_arch(arch);
    for (const Family& family : families) {
      if (*only && std::strcmp(only, family.name)) continue;
      for (int operations = 10; operations <= limit; operations *= 10) measure(family, operations, machine);
    }
  }
}
