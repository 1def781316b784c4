// benchmarks/large.cpp -- how long large expressions take to become kernels: milliseconds by stage, size and device.
//
// Nothing runs, so no GPU is needed: CUDA kernels are compiled for sm_90. Stages: capture (the user's lambda runs),
// plan (shapes, fusion, passes, schedules), of which passes, emission (text), compile (NVRTC or LLVM).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <kiln/kiln.h>

#include "codegen/pass/passes.h"
#include "dsl/drafting.h"
#include "dsl/kernels.h"
#include "dsl/trace.h"
#include "runtime/runtime.h"

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

Value chain(const std::vector<Value>& x, int operations) {
  Value y = x[0];
  for (int i = 0; i < operations; ++i)
    y = i % 2 ? y + x[static_cast<unsigned>(i) % inputs] : y * kl::lit(1.0f + 1e-6f * static_cast<float>(i));
  return y;
}

Value tree(const std::vector<Value>& x, int operations) {
  std::vector<Value> level;
  for (int i = 0; i < operations / 2; ++i)
    level.push_back(x[static_cast<unsigned>(i) % inputs] * kl::lit(static_cast<float>(i)));
  while (level.size() > 1) {
    std::vector<Value> next;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) next.push_back(level[i] + level[i + 1]);
    if (level.size() % 2) next.push_back(level.back());
    level = next;
  }
  return level[0];
}

/// Each value is used several times, long after it was computed.
Value shared(const std::vector<Value>& x, int operations) {
  std::vector<Value> values = x;
  unsigned state = 1;
  const auto pick = [&] {
    state = state * 1664525u + 1013904223u;
    return values[values.size() - 1 - (state >> 8) % std::min<std::size_t>(values.size(), 200)];
  };
  for (int i = 0; i < operations; ++i) values.push_back(i % 3 ? pick() * kl::lit(0.5f) + pick() : pick() - pick());
  Value sum = values.back();
  for (std::size_t i = values.size() > 200 ? values.size() - 200 : 0; i + 1 < values.size(); ++i) sum = sum + values[i];
  return sum;
}

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

Value transcendental(const std::vector<Value>& x, int operations) {
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

void measure(const Family& family, int operations, const kl::dsl::Machine& machine, bool compile) {
  std::vector<kl::Array<float>> arrays;
  std::vector<kl::detail::Handle> handles;
  for (unsigned i = 0; i < inputs; ++i) {
    arrays.push_back(kl::zeros<float>({64, 1024}));
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
  begin = Clock::now();
  const kl::dsl::Draft draft = kl::dsl::draft(*recorded, call, {}, machine);
  const double plan = milliseconds_since(begin);
  begin = Clock::now();
  std::vector<kl::KernelSource> sources;
  std::size_t bytes = 0;
  for (const auto& kernel : draft.kernels) {
    sources.push_back(kl::dsl::emit(kernel.kernel, kernel.schedule, machine, {}));
    bytes += sources.back().text.size();
  }
  const double emission = milliseconds_since(begin);
  begin = Clock::now();
  int registers = 0, spills = 0;
  if (compile) {
    for (const auto& source : sources) {
      const auto binary = kl::runtime::compile(source, kl::dsl::compile_options(machine, {}));
      registers = std::max(registers, binary.registers);
      spills = std::max(spills, binary.spill_bytes);
    }
  }
  const double compiling = milliseconds_since(begin);
  std::printf(
      "%-14s %6d %-6s  %4zu kernels  %8.1f KB  capture %8.2f  plan %8.2f  emission %8.2f  compile %9.1f ms  registers "
      "%d, spills %d\n",
      family.name, operations, machine.traits.cuda ? "cuda" : "cpu", draft.kernels.size(),
      static_cast<double>(bytes) / 1000, capture, plan, emission, compiling, registers, spills);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const Family families[] = {{"chain", chain},
                             {"tree", tree},
                             {"shared", shared},
                             {"reductions", reductions},
                             {"softmaxes", softmaxes},
                             {"functions", functions},
                             {"transcendental", transcendental}};
  const int limit = argc > 1 ? std::atoi(argv[1]) : 10000;
  const char* only = argc > 2 ? argv[2] : "";
  const bool compile = argc <= 3;
  const kl::DeviceGuard guard(kl::Device::cpu());
  for (const char* arch : {"sm_90", "cpu"}) {
    if (argc > 4 && std::strcmp(argv[4], arch)) continue;
    for (const Family& family : families) {
      if (*only && std::strcmp(only, family.name)) continue;
      for (int operations = 10; operations <= limit; operations *= 10)
        measure(family, operations, kl::dsl::machine_of_arch(arch), compile);
    }
  }
}
