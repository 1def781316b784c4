// dsl/inspect.cpp -- inspect(): plans and compiles a call without running it, and tells what was decided and why.
#include <kiln/inspect.h>

#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "dsl/drafting.h"
#include "dsl/session.h"
#include "dsl/shapes.h"
#include "dsl/site.h"
#include "support/check.h"

namespace kiln::dsl {
namespace {

using detail::Call;

/// Owns the texts that the public struct points at.
struct OwningInspection : detail::Inspection {
  std::deque<std::string> texts;  // addresses stay
  std::vector<KernelInfo> infos;
  Text keep(std::string text) { return texts.emplace_back(std::move(text)).c_str(); }
};

constexpr int max_registers_per_thread = 255;

/// Resident threads over the maximum of 2048 per multiprocessor, limited by registers (64 Ki, allotted by warps in
/// units of 256) and blocks (32). Shared memory of elementwise kernels never binds.
double occupancy(int registers, unsigned block) {
  if (registers <= 0 || registers > max_registers_per_thread || block == 0) return -1;
  const unsigned warps = (block + 31) / 32;
  const unsigned registers_per_warp = (static_cast<unsigned>(registers) * 32 + 255) / 256 * 256;
  const unsigned by_registers = 65536 / registers_per_warp / warps;
  const unsigned blocks = std::min({by_registers, 64 / warps, 32u});
  return static_cast<double>(blocks * warps) / 64.0;
}

std::string strides_text(const LoopNest& nest, std::size_t walk) {
  const Extents& strides = nest.walks[walk].strides;
  return to_text(std::span(strides.data(), static_cast<std::size_t>(nest.shape.rank)));
}

std::string access_lines(const DraftKernel& draft) {
  std::string text;
  for (std::size_t a = 0; a < draft.kernel.accesses.size(); ++a) {
    const codegen::Access& access = draft.kernel.accesses[a];
    text += fmt::format("    {:<6} {:<4} strides {}",
                        access.store  ? "store"
                        : access.iota ? "index"
                                      : "load",
                        name_of(access.type), strides_text(draft.nest, a));
    if (!access.iota) text += fmt::format(", aligned to {} bytes", access.alignment);
    text += access.aliased ? ", computed in place\n" : "\n";
  }
  return text;
}

std::string kernel_text(const DraftKernel& draft, const KernelInfo& info, std::size_t number) {
  std::string text = fmt::format("kernel {}: {}\n  computes {}\n  loop {} with {}-bit indices, schedule {}: {}\n",
                                 number, info.name.c_str(), draft.kernel.comment, to_text(draft.nest.shape),
                                 draft.kernel.index == codegen::IndexWidth::bits32 ? 32 : 64, draft.schedule.key(),
                                 draft.schedule.reason);
  text += access_lines(draft);
  text += fmt::format("  moves {} bytes, the least possible for its operands\n", draft.bytes_moved);
  if (info.registers >= 0) {
    text += fmt::format("  {} registers, {} bytes spilled, {} bytes of shared memory", info.registers,
                        std::max(0, info.spills), std::max(0, info.shared_bytes));
    if (info.occupancy >= 0) text += fmt::format(", occupancy {:.0f} %", 100 * info.occupancy);
    text += '\n';
  }
  return text;
}

KernelInfo compiled_info(OwningInspection& owner, const DraftKernel& draft, const Machine& machine,
                         const CodeFlags& flags) {
  const KernelSource source = emit(draft.kernel, draft.schedule, machine, flags);
  const runtime::Binary binary = runtime::compile(source, compile_options(machine, flags), machine.traits.cuda);
  KernelInfo info;
  info.name = owner.keep(binary.entry.empty() ? source.entry : binary.entry);
  info.source = owner.keep(source.text);
  info.ptx = owner.keep(binary.ptx);
  info.arch = owner.keep(machine.arch);
  info.log = owner.keep(binary.log);
  info.schedule = owner.keep(draft.schedule.key() + ": " + draft.schedule.reason);
  info.registers = binary.registers;
  info.spills = binary.spill_bytes;
  info.shared_bytes = binary.shared_bytes;
  unsigned threads = 1;
  for (int axis = 0; axis < 3; ++axis) {
    info.launch.grid[axis] = draft.shape.grid[axis];
    info.launch.block[axis] = draft.shape.block[axis];
    threads *= draft.shape.block[axis];
  }
  info.launch.shared_bytes = draft.shape.shared_bytes;
  info.launch.items = static_cast<unsigned>(draft.schedule.items * draft.schedule.vector);
  if (machine.traits.cuda) info.occupancy = occupancy(binary.registers, threads);
  info.bytes_moved = draft.bytes_moved;
  return info;
}

/// Bytes that must move whatever the number of kernels: every distinct operand read once, every result written once.
std::int64_t least_bytes(const Draft& draft, unsigned input_count, unsigned target_count) {
  std::int64_t total = 0;
  std::vector<bool> seen(input_count + target_count);
  for (const DraftKernel& kernel : draft.kernels) {
    for (std::size_t a = 0; a < kernel.kernel.accesses.size(); ++a) {
      const codegen::Access& access = kernel.kernel.accesses[a];
      const std::uint32_t base = kernel.bases[a].number;
      if (access.iota || base >= seen.size() || seen[base]) continue;
      seen[base] = true;
      std::int64_t elements = 1;
      for (int axis = 0; axis < kernel.nest.shape.rank; ++axis)
        if (kernel.nest.walks[a].strides[axis] != 0) elements *= kernel.nest.shape.extents[axis];
      total += elements * static_cast<std::int64_t>(size_of(access.type));
    }
  }
  for (unsigned t = 0; t < target_count; ++t) {
    const TargetPlan& target = draft.targets[t];
    if (!seen[input_count + t]) total += target.layout->size * static_cast<std::int64_t>(size_of(target.layout->dtype));
  }
  return total;
}

std::string explain(const Draft& draft, const Call& call, const Machine& machine, const OwningInspection& owner) {
  std::int64_t moved = 0;
  for (const DraftKernel& kernel : draft.kernels) moved += kernel.bytes_moved;
  std::string text = fmt::format("{}{}: {} kernel{} for {}\n", call.name ? call.name : "expression", place(call.where),
                                 draft.kernels.size(), draft.kernels.size() == 1 ? "" : "s", machine.arch);
  for (const std::string& note : draft.notes) text += "  " + note + "\n";
  if (draft.kernels.empty()) text += "  every result is empty: nothing is launched\n";
  for (std::size_t k = 0; k < draft.kernels.size(); ++k) text += kernel_text(draft.kernels[k], owner.infos[k], k);
  text += fmt::format("moves {} bytes; the least possible is {}\n", moved,
                      least_bytes(draft, call.input_count, call.target_count));
  return text;
}

}  // namespace
}  // namespace kiln::dsl

namespace kiln::detail {

Inspection* inspect(Site& site, const Call& call, const char* arch) {
  const runtime::DeviceId device = dsl::device_of_call(call);
  const dsl::Machine machine = arch && *arch ? dsl::machine_of_arch(arch) : dsl::machine_of(device);
  for (unsigned i = 0; i < call.input_count; ++i) {
    if (!call.inputs[i].layout)
      fail<ShapeError>("inspect: operand {} is a default-constructed array{}; give it a shape first", i,
                       dsl::place(call.where));
  }
  const std::shared_ptr<const dsl::Trace> trace = dsl::SiteTable::of(site).traces.get(call);
  const dsl::Draft draft = dsl::draft(*trace, call, device, machine);
  auto owner = std::make_unique<dsl::OwningInspection>();
  const dsl::CodeFlags flags{call.options.contract, call.options.fast_math, call.options.lineinfo};
  for (const dsl::DraftKernel& kernel : draft.kernels)
    owner->infos.push_back(dsl::compiled_info(*owner, kernel, machine, flags));
  owner->graph = owner->keep(codegen::to_text(codegen::canonical(trace->graph)));
  owner->dot = owner->keep(codegen::to_dot(codegen::canonical(trace->graph)));
  owner->explain = owner->keep(dsl::explain(draft, call, machine, *owner));
  owner->kernels = owner->infos.data();
  owner->kernel_count = static_cast<unsigned>(owner->infos.size());
  return owner.release();
}

void precompile(Site& site, const Call& call, const char* arch) {
  const runtime::DeviceId device = arch ? dsl::device_of_call(call) : dsl::current_device();
  const dsl::Machine machine = arch ? dsl::machine_of_arch(arch) : dsl::machine_of(device);
  const std::shared_ptr<const dsl::Trace> trace = dsl::SiteTable::of(site).traces.get(call);
  const dsl::Draft draft = dsl::draft(*trace, call, device, machine);
  const dsl::CodeFlags flags{call.options.contract, call.options.fast_math, call.options.lineinfo};
  for (const dsl::DraftKernel& kernel : draft.kernels)
    runtime::cached_binary(dsl::emit(kernel.kernel, kernel.schedule, machine, flags),
                           dsl::compile_options(machine, flags));
}

void destroy(Inspection* inspection) noexcept { delete static_cast<dsl::OwningInspection*>(inspection); }

}  // namespace kiln::detail
