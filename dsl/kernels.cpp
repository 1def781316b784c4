// dsl/kernels.cpp -- single-flight generation, compilation and loading of kernels.
#include "dsl/kernels.h"

#include <chrono>
#include <future>
#include <unordered_map>

#include <fmt/format.h>

#include "support/check.h"
#include "support/fork_safe.h"
#include "support/log.h"

namespace kiln::dsl {
namespace {

using Result = std::shared_ptr<const CompiledKernel>;

struct Map {
  ForkSafeMutex mutex;
  std::unordered_map<std::string, std::shared_future<Result>> kernels;
};

constinit Leaked<Map> the_map;
Map& map() { return the_map.get(); }

// A forked child has no threads to finish what was being built.
const InForkedChild forget_flights([] {
  std::erase_if(map().kernels, [](const auto& item) {
    return item.second.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  });
});

std::string identity(const codegen::Kernel& kernel, const codegen::Schedule& schedule, const Machine& machine,
                     const CodeFlags& flags) {
  return fmt::format("{}:{} {} contract {} fast {} lineinfo {}\n{}\n{}", static_cast<int>(machine.device.kind),
                     machine.device.index, machine.arch, flags.contract, flags.fast_math, flags.lineinfo,
                     schedule.key(), codegen::kernel_key(kernel));
}

Result build(const codegen::Kernel& kernel, const codegen::Schedule& schedule, const Machine& machine,
             const CodeFlags& flags) {
  auto result = std::make_shared<CompiledKernel>();
  result->source = emit(kernel, schedule, machine, flags);
  KILN_LOG(3, "kernel {}: {}", result->source.entry, schedule.reason);
  KILN_LOG(4, "source of {}\n{}", result->source.entry, result->source.text);
  result->binary = runtime::cached_binary(result->source, compile_options(machine, flags));
  result->loaded = runtime::backend(machine.device).load(*result->binary, result->source);
  // The map keeps every kernel of the process; of thousands, the texts would be most of its memory.
  result->source.text = {};
  return result;
}

}  // namespace

KernelSource emit(const codegen::Kernel& kernel, const codegen::Schedule& schedule, const Machine& machine,
                  const CodeFlags& flags) {
  codegen::EmitOptions options;
  options.contract = flags.contract;
  options.fast_math = flags.fast_math;
  options.lineinfo = flags.lineinfo;
  if (machine.traits.cuda) return codegen::emit_cuda(kernel, schedule, options);
  options.cpu_features = machine.arch;
  return codegen::emit_llvm(kernel, schedule, options);
}

CompileOptions compile_options(const Machine& machine, const CodeFlags& flags) {
  CompileOptions options;
  options.arch = machine.arch;
  options.contract = flags.contract;
  options.fast_math = flags.fast_math;
  options.lineinfo = flags.lineinfo;
  return options;
}

Result compiled_kernel(const codegen::Kernel& kernel, const codegen::Schedule& schedule, const Machine& machine,
                       const CodeFlags& flags) {
  const std::string key = identity(kernel, schedule, machine, flags);
  std::promise<Result> promise;
  std::shared_future<Result> flight;
  {
    const std::lock_guard lock(map().mutex);
    const auto [entry, inserted] = map().kernels.try_emplace(key);
    if (inserted)
      entry->second = promise.get_future().share();
    else
      flight = entry->second;
  }
  if (flight.valid()) return flight.get();
  try {
    Result result = build(kernel, schedule, machine, flags);
    promise.set_value(result);
    return result;
  } catch (...) {
    {
      const std::lock_guard lock(map().mutex);
      map().kernels.erase(key);
    }
    promise.set_exception(std::current_exception());
    throw;
  }
}

}  // namespace kiln::dsl
