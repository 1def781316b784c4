// dsl/kernels.cpp -- single-flight generation, compilation and loading of kernels.
#include "dsl/kernels.h"

#include <algorithm>
#include <future>
#include <mutex>
#include <unordered_map>

#include <fmt/format.h>

#include "support/check.h"
#include "support/log.h"

namespace kiln::dsl {
namespace {

using Result = std::shared_ptr<const CompiledKernel>;

struct Map {
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_future<Result>> kernels;
};

/// Leaked: kernels may run while static objects are destroyed.
Map& map() {
  static Map* const instance = new Map;
  return *instance;
}

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
  const std::shared_ptr<const runtime::Binary> binary =
      runtime::cached_binary(result->source, compile_options(machine, flags));
  result->loaded = runtime::backend(machine.device).load(*binary, result->source);
  // The map keeps every kernel of the process; of thousands, the texts would be most of its memory.
  result->source.text = {};
  return result;
}

/// 90 for "sm_90", "sm_90a" or "compute_90"; 0 for anything else.
int capability_of(const std::string& arch) {
  int capability = 0;
  for (const char c : arch.substr(std::min(arch.size(), arch.find('_') + 1))) {
    if (c < '0' || c > '9') break;
    capability = 10 * capability + (c - '0');
  }
  return capability;
}

/// The largest card of an architecture that is not here: what bundles are usually made for.
void describe_typical(int capability, codegen::DeviceTraits& traits) {
  struct Card {
    int capability, multiprocessors, threads, l2_mib;
  };
  constexpr Card cards[] = {{75, 72, 1024, 6},   {80, 108, 2048, 40},   {86, 84, 1536, 6},    {89, 142, 1536, 96},
                            {90, 132, 2048, 50}, {100, 148, 2048, 126}, {120, 188, 1536, 128}};
  const Card* card = &cards[0];
  for (const Card& other : cards)
    if (other.capability <= capability) card = &other;
  traits.multiprocessors = card->multiprocessors;
  traits.threads_per_multiprocessor = card->threads;
  traits.l2_bytes = static_cast<std::size_t>(card->l2_mib) << 20;
  traits.compute_capability = capability;
}

}  // namespace

Machine machine_of(runtime::DeviceId device) {
  const runtime::DeviceInfo& info = runtime::backend(device).info();
  Machine machine{device, info.arch, {}};
  machine.traits.cuda = device.kind == runtime::DeviceKind::cuda;
  machine.traits.multiprocessors = info.multiprocessors;
  machine.traits.threads_per_multiprocessor = info.threads_per_multiprocessor;
  machine.traits.l2_bytes = info.l2_bytes;
  machine.traits.cpu_vector_bits = info.cpu_vector_bits;
  machine.traits.argument_bytes = info.argument_bytes;
  if (machine.traits.cuda) machine.traits.compute_capability = capability_of(info.arch);
  return machine;
}

Machine machine_of_arch(const std::string& arch) {
  if (arch == "cpu") return machine_of({runtime::DeviceKind::cpu, 0});
  if (!arch.starts_with("sm_") && !arch.starts_with("compute_"))
    fail<DeviceError>("no architecture is called '{}'; write \"sm_90\", \"compute_80\" or \"cpu\"", arch);
  Machine machine{{runtime::DeviceKind::cuda, 0}, arch, {}};
  describe_typical(capability_of(arch), machine.traits);
  return machine;
}

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
