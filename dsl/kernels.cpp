// dsl/kernels.cpp -- single-flight generation, compilation and loading of kernels; how many stay loaded.
#include "dsl/kernels.h"

#include <future>
#include <list>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "runtime/kernel_limit.h"
#include "support/check.h"
#include "support/fork_safe.h"
#include "support/log.h"

namespace kiln::dsl {
namespace {

using Result = std::shared_ptr<const CompiledKernel>;

struct Entry {
  std::shared_future<Result> flight;  ///< while it is being built
  Result kernel;                      ///< afterwards
  std::list<const std::string*>::iterator place = {};
};

struct Map {
  ForkSafeMutex mutex;
  std::unordered_map<std::string, Entry> kernels;
  std::list<const std::string*> finished;  ///< keys of `kernels`, the one asked for last first

  /// Takes out those that nobody else holds, the last ones first. Kernels in use are put in front, so that the next
  /// search finds others: one search may stop after `looks`.
  std::vector<Result> take_unused(std::size_t limit, std::size_t looks) {
    std::vector<Result> taken;
    for (; looks > 0 && finished.size() > limit; --looks) {
      const auto entry = kernels.find(*finished.back());
      if (entry->second.kernel.use_count() > 1) {
        finished.splice(finished.begin(), finished, entry->second.place);
        continue;
      }
      taken.push_back(std::move(entry->second.kernel));
      finished.pop_back();
      kernels.erase(entry);
    }
    return taken;
  }
};

constinit Leaked<Map> the_map;
Map& map() { return the_map.get(); }

// A forked child has no threads to finish what was being built.
const InForkedChild forget_flights([] {
  std::erase_if(map().kernels, [](const auto& item) { return !item.second.kernel; });
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
  const auto binary = runtime::cached_binary(result->source, compile_options(machine, flags));
  result->loaded = runtime::backend(machine.device).load(*binary, result->source);
  // Of a thousand kernels, texts and images would be most of the memory.
  result->source.text = {};
  auto described = std::make_shared<runtime::Binary>(*binary);
  described->image = {};
  result->binary = std::move(described);
  return result;
}

/// Puts a finished kernel into the map; those that have to make room die after the lock is given back.
void publish(const std::string& key, const Result& result) {
  constexpr std::size_t looks = 64;  // few, where most are in use
  std::vector<Result> unused;
  Map& all = map();
  const std::lock_guard lock(all.mutex);
  const auto entry = all.kernels.find(key);
  if (entry == all.kernels.end()) return;  // in the child of a fork, on the thread that forked while it built
  entry->second.flight = {};
  entry->second.kernel = result;
  all.finished.push_front(&entry->first);
  entry->second.place = all.finished.begin();
  unused = all.take_unused(runtime::kernel_limit(), looks);
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
  Map& all = map();
  {
    const std::lock_guard lock(all.mutex);
    const auto [entry, inserted] = all.kernels.try_emplace(key);
    if (entry->second.kernel) {
      all.finished.splice(all.finished.begin(), all.finished, entry->second.place);
      return entry->second.kernel;
    }
    if (inserted)
      entry->second.flight = promise.get_future().share();
    else
      flight = entry->second.flight;
  }
  if (flight.valid()) return flight.get();
  try {
    Result result = build(kernel, schedule, machine, flags);
    publish(key, result);
    promise.set_value(result);
    return result;
  } catch (...) {
    {
      const std::lock_guard lock(all.mutex);
      all.kernels.erase(key);
    }
    promise.set_exception(std::current_exception());
    throw;
  }
}

void unload_unused_kernels(std::size_t kernels) {
  Map& all = map();
  std::vector<Result> unused;
  {
    const std::lock_guard lock(all.mutex);
    unused = all.take_unused(kernels, all.finished.size());
  }
  unused.clear();
  for (const runtime::DeviceInfo& info : runtime::devices()) runtime::backend(info.id).unload_unused(kernels);
}

}  // namespace kiln::dsl
