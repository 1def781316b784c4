// dsl/machines.cpp -- devices that are here, typical cards and CPUs.
#include "dsl/machines.h"

#include <iterator>

#include "dsl/shapes.h"
#include "runtime/bundle/choose.h"
#include "runtime/cpu/cpu.h"
#include "runtime/gpu_target.h"
#include "support/check.h"

namespace kiln::dsl {
namespace {

/// The largest cards of their architectures: what bundles are usually made for.
struct Card {
  int capability, multiprocessors, threads, l2_mib;
};
constexpr Card cards[] = {{75, 72, 1024, 6},   {80, 108, 2048, 40},   {86, 84, 1536, 6},    {89, 142, 1536, 96},
                          {90, 132, 2048, 50}, {100, 148, 2048, 126}, {120, 188, 1536, 128}};

constexpr const char* cpu_targets[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"};
constexpr int typical_cpu_threads = 16;

const Card& card_of(int capability) {
  const Card* card = &cards[0];
  for (const Card& other : cards)
    if (other.capability <= capability) card = &other;
  return *card;
}

/// 90 for "sm_90", "sm_90a", "ptx_90" or "compute_90"; 0 for anything else.
int capability_of(const std::string& arch) {
  if (!arch.starts_with("sm_") && !arch.starts_with("ptx_") && !arch.starts_with("compute_")) return 0;
  int capability = 0;
  for (const char c : arch.substr(arch.find('_') + 1)) {
    if (c < '0' || c > '9' || capability > 999) break;
    capability = 10 * capability + (c - '0');
  }
  return capability;
}

void describe_typical(int capability, codegen::DeviceTraits& traits) {
  const Card& card = card_of(capability);
  traits.multiprocessors = card.multiprocessors;
  traits.threads_per_multiprocessor = card.threads;
  traits.l2_bytes = static_cast<std::size_t>(card.l2_mib) << 20;
  traits.compute_capability = capability;
}

Machine typical_cpu(std::string_view features) {
  Machine machine{{runtime::DeviceKind::cpu, 0}, std::string(features), {}};
  machine.traits.cuda = false;
  machine.traits.multiprocessors = typical_cpu_threads;
  machine.traits.threads_per_multiprocessor = 1;
  machine.traits.cpu_vector_bits = runtime::cpu_vector_bits(machine.arch);
  return machine;
}

}  // namespace

Machine machine_of(runtime::DeviceId device) {
  const runtime::DeviceInfo& info = runtime::backend(device).info();
  Machine machine{device, info.arch, {}, info.name};
  machine.traits.cuda = device.kind == runtime::DeviceKind::cuda;
  machine.traits.multiprocessors = info.multiprocessors;
  machine.traits.threads_per_multiprocessor = info.threads_per_multiprocessor;
  machine.traits.l2_bytes = info.l2_bytes;
  machine.traits.cpu_vector_bits = info.cpu_vector_bits;
  machine.traits.argument_bytes = info.argument_bytes;
  if (machine.traits.cuda) machine.traits.compute_capability = capability_of(info.arch);
  return machine;
}

Machine machine_of_arch(const std::string& arch, detail::Where where) {
  if (arch == "cpu") return machine_of({runtime::DeviceKind::cpu, 0});
  if (const std::string_view features = runtime::cpu_target_features(arch); !features.empty())
    return typical_cpu(features);
  constexpr int oldest = 50;  // that any NVRTC which kiln accepts has known
  const std::optional<runtime::GpuArch> gpu = runtime::parse_gpu_arch(arch);
  if (!gpu || gpu->number < oldest)
    fail<DeviceError>(
        "no architecture is called '{}'{}; write \"sm_90\", \"compute_80\" or \"cpu\", with the device's compute "
        "capability without its dot: sm_120 is 12.0",
        arch, place(where));
  Machine machine{{runtime::DeviceKind::cuda, 0}, arch, {}};
  describe_typical(capability_of(arch), machine.traits);
  return machine;
}

std::vector<std::string> recorded_targets() {
  std::vector<std::string> targets;
  for (const Card& card : cards) targets.push_back(fmt::format("sm_{}", card.capability));
  targets.insert(targets.end(), std::begin(cpu_targets), std::end(cpu_targets));
  return targets;
}

Machine machine_of_target(const std::string& target, const Machine& device) {
  if (const std::string_view features = runtime::cpu_target_features(target); !features.empty())
    return typical_cpu(features);
  Machine machine = device;
  machine.name.clear();
  machine.traits.cuda = true;
  describe_typical(capability_of(target), machine.traits);
  return machine;
}

}  // namespace kiln::dsl
