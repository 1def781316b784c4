// dsl/inspect.cpp -- inspect(): plans and compiles a call without running it, and tells what was decided and why.
#include <kiln/inspect.h>

#include <algorithm>

#include "codegen/schedule/candidates.h"
#include "dsl/bundled.h"
#include "dsl/compile_places.h"
#include "dsl/drafting.h"
#include "dsl/explain.h"
#include "dsl/out_of_memory.h"
#include "dsl/owning_inspection.h"
#include "dsl/session.h"
#include "dsl/shapes.h"
#include "dsl/site.h"
#include "dsl/usage.h"
#include "runtime/activity.h"
#include "support/check.h"

namespace kiln::dsl {
namespace {

using detail::Call;

KernelInfo compiled_info(OwningInspection& owner, const DraftKernel& draft, const Machine& machine,
                         const CodeFlags& flags, Where where) {
  KernelSource source = emit(draft.kernel, draft.schedule, machine, flags);
  runtime::Binary binary = naming_places(draft.kernel, where, [&] {
    return runtime::compile(source, compile_options(machine, flags), machine.traits.cuda);
  });
  KernelInfo info;
  info.name = owner.keep(binary.entry.empty() ? source.entry : binary.entry);
  info.source = owner.keep(source.text);
  info.ptx = owner.keep(binary.ptx);
  info.arch = owner.keep(machine.arch);
  info.log = owner.keep(binary.log);
  info.schedule = owner.keep(codegen::schedule_text(draft.schedule) + ": " + draft.schedule.reason);
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
  info.launch.cluster = draft.shape.cluster;
  if (machine.traits.cuda) {
    const auto shared = static_cast<std::uint64_t>(std::max(0, binary.shared_bytes)) + draft.shape.shared_bytes;
    info.occupancy = occupancy(binary.registers, threads, shared, machine.traits);
  }
  info.bytes_moved = draft.bytes_moved;
  info.operations = draft.operations;
  info.sass = owner.keep_code(std::move(binary), std::move(source), compile_options(machine, flags));
  return info;
}

const char* machine_code(const void* context) {
  auto& code = *static_cast<MachineCode*>(const_cast<void*>(context));
  const std::string* text = code.text.load(std::memory_order_acquire);
  if (text) return text->c_str();
  // The CPU's compiler prints assembly instead of PTX.
  auto made = std::make_unique<const std::string>(code.source.language == Language::cuda
                                                      ? runtime::disassemble(code.binary)
                                                      : runtime::compile(code.source, code.options, true).ptx);
  // Without a lock, which a fork would have to wait for: two threads may make it, and one text stays.
  if (code.text.compare_exchange_strong(text, made.get(), std::memory_order_acq_rel)) text = made.release();
  return text->c_str();
}

}  // namespace

Text OwningInspection::keep_code(runtime::Binary binary, KernelSource source, CompileOptions options) {
  MachineCode& kept = code.emplace_back();
  kept.binary = std::move(binary);
  kept.source = std::move(source);
  kept.options = std::move(options);
  return {&machine_code, &kept};
}

}  // namespace kiln::dsl

namespace kiln::detail {

Inspection* inspect(Site& site, const Call& call, const char* arch) try {
  const runtime::DeviceId device = dsl::device_of_call(call);
  const dsl::Machine machine = arch && *arch ? dsl::machine_of_arch(arch, call.where) : dsl::machine_of(device);
  for (unsigned i = 0; i < call.input_count; ++i) {
    if (!call.inputs[i].layout)
      fail<ShapeError>(
          "inspect: operand {} has no elements{}: it was default-constructed or moved from; give it a shape first", i,
          dsl::place(call.where));
  }
  std::shared_ptr<const dsl::Trace> trace = dsl::SiteTable::of(site).trace(call);
  const dsl::Draft draft = [&] {
    try {
      return dsl::draft(*trace, call, device, machine);
    } catch (const ShapeError&) {  // expressions of one type share a trace: name this line and not the first one's
      trace = dsl::record(call);
      return dsl::draft(*trace, call, device, machine);
    }
  }();
  auto owner = std::make_unique<dsl::OwningInspection>();
  if (!arch || !*arch) {
    const runtime::DeviceInfo& info = runtime::backend(device).info();
    owner->peak_bandwidth = info.peak_bandwidth;
    owner->device = info.name;
  }
  const dsl::CodeFlags flags{call.options.contract, call.options.fast_math, call.options.lineinfo};
  for (const dsl::DraftKernel& kernel : draft.kernels)
    owner->infos.push_back(dsl::compiled_info(*owner, kernel, machine, flags, call.where));
  owner->graph = owner->keep(codegen::to_text(codegen::canonical(trace->graph)));
  owner->dot = owner->keep(codegen::to_dot(codegen::canonical(trace->graph)));
  owner->explain = owner->keep(dsl::explain(draft, call, machine, owner->infos));
  owner->kernels = owner->infos.data();
  owner->kernel_count = static_cast<unsigned>(owner->infos.size());
  return owner.release();
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("inspect this function", call.where);
}

Roofline roofline(const Inspection& inspection, double milliseconds) {
  const auto& owner = static_cast<const dsl::OwningInspection&>(inspection);
  if (!(milliseconds > 0))
    fail<TypeError>("roofline: a run of {} ms cannot be placed; pass the time of one run in milliseconds",
                    milliseconds);
  std::int64_t bytes = 0, operations = 0;
  for (const KernelInfo& kernel : owner.infos) {
    bytes += kernel.bytes_moved;
    operations += kernel.operations;
  }
  if (bytes == 0)
    fail<TypeError>(
        "roofline: what this kernel moves is not known, as it is the user's own; kl::profile counts its arrays");
  Roofline result;
  result.gigabytes_per_second = static_cast<double>(bytes) / milliseconds / 1e6;
  result.gigaoperations_per_second = static_cast<double>(operations) / milliseconds / 1e6;
  if (bytes > 0) result.operations_per_byte = static_cast<double>(operations) / static_cast<double>(bytes);
  std::string text = fmt::format("{:.1f} GB/s", result.gigabytes_per_second);
  if (owner.peak_bandwidth > 0) {
    result.of_peak = 1e9 * result.gigabytes_per_second / owner.peak_bandwidth;
    text += fmt::format(", {:.0f} % of the {:.0f} GB/s of {}", 100 * result.of_peak, owner.peak_bandwidth / 1e9,
                        owner.device);
  }
  text += fmt::format("; {:.2f} operations per byte, {:.1f} G operations/s", result.operations_per_byte,
                      result.gigaoperations_per_second);
  text.copy(result.line, sizeof result.line - 1);
  return result;
}

void precompile(Site& site, const Call& call, const char* arch) {
  const runtime::DeviceId device = dsl::device_of_call(call);  // where the stand-ins of the arguments seem to be
  const dsl::Machine machine = arch ? dsl::machine_of_arch(arch, call.where) : dsl::machine_of(dsl::current_device());
  const std::shared_ptr<const dsl::Trace> trace = dsl::SiteTable::of(site).trace(call);
  const runtime::Planning planning((call.name ? call.name : "expression") + dsl::place(call.where));
  dsl::record_call(*trace, call, device);
  const dsl::PlannedCall planned = dsl::plan_call(*trace, call, device, machine);
  const dsl::CodeFlags flags{call.options.contract, call.options.fast_math, call.options.lineinfo};
  const auto record = dsl::describe(planned.draft, call, arch ? arch : dsl::device_text(dsl::current_device()));
  for (const dsl::DraftKernel& kernel : planned.draft.kernels) {
    const KernelSource source = dsl::emit(kernel.kernel, kernel.schedule, planned.machine, flags);
    const auto binary = dsl::naming_places(kernel.kernel, call.where, [&] {
      return runtime::cached_binary(source, dsl::compile_options(planned.machine, flags));
    });
    record->add_kernel(source.entry, *binary);
  }
  if (call.group) dsl::SiteTable::of(*call.group).specializations.add(record);
}

void destroy(Inspection* inspection) noexcept { delete static_cast<dsl::OwningInspection*>(inspection); }

}  // namespace kiln::detail
