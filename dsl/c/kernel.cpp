// dsl/c/kernel.cpp -- kernels of the C interface: made of graphs, compiled ahead.
#include "dsl/c/kernel.h"

#include "dsl/c/graph.h"
#include "dsl/recorder.h"

namespace kiln::dsl::c {
namespace {

void trace(detail::Recorder& recorder, const void* environment, detail::NodeId* outputs) {
  const Program& program = static_cast<const kiln_kernel*>(environment)->program;
  Replay replay(recorder, Replay::slots_of_call);
  replay.play(program);
  for (std::size_t i = 0; i < program.outputs().size(); ++i) outputs[i] = replay.node(program.outputs()[i], {});
}

/// Extents of a stand-in: aligned, or not even.
struct StandIn {
  std::int64_t shape[detail::max_rank];
  StandIn(bool odd, int rank) {
    for (std::int64_t& extent : shape) extent = odd ? 5 : 4;
    if (rank > 0) shape[rank - 1] = odd ? 1025 : 1024;
  }
};

/// Nothing lies at the addresses, which are aligned and distinct as those of new arrays are.
void compile_variant(kiln_kernel& kernel, bool odd, const char* arch) {
  std::vector<detail::Handle> inputs, results(kernel.outputs.size());
  for (const Operand& input : kernel.inputs) {
    const StandIn stand_in(odd, input.rank);
    const auto* const layout = detail::intern(input.type, 0, 0, stand_in.shape, input.rank, nullptr);
    void* const nowhere = reinterpret_cast<void*>((inputs.size() + 1) << 40);
    inputs.push_back({borrowed_storage({}), nowhere, layout});
  }
  std::vector<detail::ScalarArgument> scalars(kernel.scalars.size());
  for (std::size_t i = 0; i < scalars.size(); ++i) scalars[i].type = kernel.scalars[i];
  std::vector<detail::Target> targets;
  for (std::size_t i = 0; i < results.size(); ++i) targets.push_back({&results[i], kernel.outputs[i].type, true});
  detail::Call call = kernel.call();
  call.inputs = inputs.data();
  call.scalars = scalars.data();
  call.targets = targets.data();
  detail::precompile(kernel.site, call, arch);
}

}  // namespace
}  // namespace kiln::dsl::c

using namespace kiln;
using namespace kiln::dsl::c;

kiln_kernel::kiln_kernel(const HostMemory& from, const kiln_graph& graph, const detail::CodeOptions& code)
    : memory(from),
      program(graph.program),
      options(code),
      inputs(HostAllocator<Operand>(from)),
      outputs(HostAllocator<Operand>(from)),
      scalars(HostAllocator<DType>(from)) {
  if (program.outputs().empty()) fail_argument("the graph has no outputs: kiln_graph_output names them");
  for (std::size_t i = 0; i < program.size(); ++i) {
    const Step step = program[i];
    if (step.kind == StepKind::input) inputs.emplace_back(step.type, static_cast<std::int32_t>(step.numbers[0]));
    if (step.kind == StepKind::scalar) scalars.push_back(step.type);
  }
  for (const kiln_value output : program.outputs()) outputs.emplace_back(graph.values().type(output), -1);
}

kiln_kernel::~kiln_kernel() { detail::destroy(site); }

detail::Call kiln_kernel::call() const {
  detail::Call call;
  call.input_count = static_cast<unsigned>(inputs.size());
  call.scalar_count = static_cast<unsigned>(scalars.size());
  call.target_count = static_cast<unsigned>(outputs.size());
  call.trace = &trace;
  call.environment = this;
  call.name = program.name();
  call.options = options;
  call.is_function = true;
  return call;
}

extern "C" {

kiln_status kiln_kernel_create(const kiln_graph* graph, const kiln_options* options, kiln_kernel** kernel) noexcept {
  return guarded("kiln_kernel_create", [&] {
    require(graph, "graph");
    require(kernel, "kernel");
    detail::CodeOptions code;
    if (options) {
      require_known(options, "options");
      code.contract = !flag(options->no_contract, "options->no_contract");
      code.fast_math = flag(options->fast_math, "options->fast_math");
      code.lineinfo = flag(options->lineinfo, "options->lineinfo");
    }
    *kernel = make_object<kiln_kernel>(*graph, code);
  });
}

void kiln_kernel_destroy(kiln_kernel* kernel) noexcept { destroy_object(kernel); }

kiln_status kiln_kernel_compile(kiln_kernel* kernel, const char* const* archs, std::size_t arch_count) noexcept {
  return guarded("kiln_kernel_compile", [&] {
    require(kernel, "kernel");
    require_list(static_cast<const void*>(archs), arch_count, most_archs, "archs");
    for (std::size_t i = 0; i < arch_count; ++i) require(archs[i], "the name of an architecture");
    for (std::size_t i = 0; i < (arch_count ? arch_count : 1); ++i)
      for (const bool odd : {false, true}) compile_variant(*kernel, odd, arch_count ? archs[i] : nullptr);
  });
}

}  // extern "C"
