// dsl/explain.cpp -- the text of explain().
#include "dsl/explain.h"

#include <algorithm>

#include <fmt/format.h>

#include "codegen/ir/stages.h"
#include "codegen/schedule/candidates.h"
#include "dsl/shapes.h"
#include "dsl/traffic.h"
#include "runtime/occupancy.h"

namespace kiln::dsl {
namespace {

std::string strides_text(const LoopNest& nest, std::size_t walk) {
  const Extents& strides = nest.walks[walk].strides;
  return to_text(std::span(strides.data(), static_cast<std::size_t>(nest.shape.rank)));
}

/// What is read displaced, and how beyond the borders.
std::string folds_text(const LoopNest::Walk& walk) {
  constexpr const char* names[] = {"", "clamped to", "wrapped around at", "reflected at", "mirrored at"};
  std::string text;
  for (std::size_t axis = 0; axis < walk.folds.size(); ++axis) {
    const AxisFold& fold = walk.folds[axis];
    if (!fold.is_active() || fold.start == 0) continue;
    text += fmt::format(", shifted by {} along axis {}, {} the borders", -fold.start, axis,
                        names[static_cast<int>(fold.kind)]);
  }
  return text;
}

std::string access_lines(const DraftKernel& draft) {
  std::string text;
  for (std::size_t a = 0; a < draft.kernel.accesses.size(); ++a) {
    const codegen::Access& access = draft.kernel.accesses[a];
    text += fmt::format("    {:<6} {:<4} strides {}",
                        access.store      ? "store"
                        : access.iota     ? "index"
                        : access.gathered ? "take"
                                          : "load",
                        name_of(access.type), strides_text(draft.nest, a));
    if (!access.iota) text += fmt::format(", aligned to {} bytes", access.alignment);
    text += folds_text(draft.nest.walks[a]);
    text += access.aliased ? ", computed in place\n" : "\n";
  }
  return text;
}

/// What the kept axes number.
const char* unit_name(const DraftKernel& draft) {
  return draft.schedule.form == codegen::Template::column_reduction ? "column" : "row";
}

std::string loop_text(const DraftKernel& draft) {
  const LoopNest& nest = draft.nest;
  std::string text = to_text(nest.shape);
  if (nest.reduced == 0) return text;
  const auto extents = nest.shape.span();
  const auto border = static_cast<std::size_t>(nest.shape.rank - nest.reduced);
  std::int64_t rows = 1, length = 1;
  for (const std::int64_t extent : extents.first(border)) rows *= extent;
  for (const std::int64_t extent : extents.subspan(border)) length *= extent;
  return text + fmt::format(", {} {}{} of {} elements,", rows, unit_name(draft), rows == 1 ? "" : "s", length);
}

/// Which of a kernel's reads of its rows go to memory.
std::string passes_text(const DraftKernel& draft) {
  if (draft.kernel.reduced == 0) return "";
  const codegen::Stages stages = codegen::stages_of(draft.kernel);
  const std::size_t reads = stages.passes.size() + (stages.has_element_outputs && stages.scans.empty() ? 1 : 0);
  std::string text;
  if (reads > 1) {
    text = fmt::format(
        "  goes over each {} {} times{}\n", unit_name(draft), reads,
        draft.schedule.resident ? ", and reads it once" : "; what the caches still hold is not read from memory again");
  }
  if (draft.shape.workspace_bytes > 0)
    text += fmt::format("  a {} may be shared: {} bytes of partial results, joined in a fixed order\n",
                        unit_name(draft), draft.shape.workspace_bytes);
  if (draft.shape.cluster > 1)
    text += fmt::format("  clusters of {} blocks hold a {} together\n", draft.shape.cluster, unit_name(draft));
  return text;
}

/// Operands once, or more where the caches cannot keep the rows that are read again.
std::string traffic_text(const DraftKernel& draft, const Rereads& again) {
  if (!again.may_reach_memory())
    return fmt::format("  moves {} bytes, the least possible for its operands", draft.bytes_moved);
  return fmt::format(
      "  moves {} to {} bytes: its operands once, and again what a cache of {} bytes does not keep of the {} bytes of "
      "{}s that are worked on together",
      draft.bytes_moved, draft.bytes_moved + again.bytes, again.cache, again.in_flight, unit_name(draft));
}

std::string kernel_text(const DraftKernel& draft, const KernelInfo& info, const Rereads& again, std::size_t number) {
  std::string text = fmt::format("kernel {}: {}\n  computes {}\n  loop {} with {}-bit indices, schedule {}: {}\n",
                                 number, info.name.c_str(), draft.kernel.comment, loop_text(draft),
                                 draft.kernel.index == codegen::IndexWidth::bits32 ? 32 : 64,
                                 codegen::schedule_text(draft.schedule), draft.schedule.reason);
  text += access_lines(draft);
  text += passes_text(draft);
  text += traffic_text(draft, again);
  if (draft.bytes_moved > 0 && draft.operations > 0)
    text += fmt::format("; {:.2f} operations per byte",
                        static_cast<double>(draft.operations) / static_cast<double>(draft.bytes_moved));
  text += '\n';
  if (info.registers >= 0) {
    std::uint64_t blocks = 1, threads = 1;
    for (int axis = 0; axis < 3; ++axis) blocks *= info.launch.grid[axis], threads *= info.launch.block[axis];
    text += fmt::format("  {} block{} of {} threads, {} registers, {} bytes spilled, {} bytes of shared memory", blocks,
                        blocks == 1 ? "" : "s", threads, info.registers, std::max(0, info.spills),
                        std::max(0, info.shared_bytes) + static_cast<int>(info.launch.shared_bytes));
    if (info.occupancy >= 0) text += fmt::format(", occupancy {:.0f} %", 100 * info.occupancy);
    text += '\n';
  }
  return text;
}

/// Bytes that must move whatever the number of kernels: every distinct operand read once, every result written once.
std::int64_t least_bytes(const Draft& draft, unsigned input_count, unsigned target_count) {
  std::vector<std::int64_t> bytes(input_count + target_count);
  for (const DraftKernel& kernel : draft.kernels) {
    for (std::size_t a = 0; a < kernel.kernel.accesses.size(); ++a) {
      const codegen::Access& access = kernel.kernel.accesses[a];
      const std::uint32_t base = kernel.bases[a].number;
      const bool is_shared = a < kernel.is_shared.size() && kernel.is_shared[a];
      if (access.iota || is_shared || base >= input_count) continue;
      bytes[base] = std::max(bytes[base], bytes_touched(kernel, a));
    }
  }
  for (unsigned t = 0; t < target_count; ++t) {
    const detail::Layout& layout = *draft.targets[t].layout;
    bytes[input_count + t] = layout.size * static_cast<std::int64_t>(size_of(layout.dtype));
  }
  std::int64_t total = 0;
  for (const std::int64_t part : bytes) total += part;
  return total;
}

std::string total_text(const Draft& draft, const detail::Call& call, std::span<const Rereads> again) {
  std::int64_t moved = 0, more = 0;
  for (const DraftKernel& kernel : draft.kernels) moved += kernel.bytes_moved;
  for (const Rereads& reads : again) more += reads.may_reach_memory() ? reads.bytes : 0;
  const std::int64_t least = least_bytes(draft, call.input_count, call.target_count);
  const auto times = [&](std::int64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(least); };
  if (more > 0)
    return fmt::format("moves {} to {} bytes; the least possible is {} ({:.2f} to {:.2f} times)\n", moved, moved + more,
                       least, times(moved), times(moved + more));
  std::string text = fmt::format("moves {} bytes; the least possible is {}", moved, least);
  if (least > 0 && moved > least) text += fmt::format(" ({:.2f} times)", times(moved));
  return text + '\n';
}

}  // namespace

double occupancy(int registers, unsigned block, std::uint64_t shared_bytes, const codegen::DeviceTraits& traits) {
  return runtime::occupancy({registers, block, shared_bytes}, runtime::gpu_limits(traits.compute_capability));
}

std::string explain(const Draft& draft, const detail::Call& call, const Machine& machine,
                    std::span<const KernelInfo> infos) {
  std::string text = fmt::format("{}{}: {} kernel{} for {}\n", call.name ? call.name : "expression", place(call.where),
                                 draft.kernels.size(), draft.kernels.size() == 1 ? "" : "s", machine.arch);
  for (const std::string& note : draft.notes) text += "  " + note + "\n";
  if (draft.kernels.empty()) text += "  every result is empty: nothing is launched\n";
  std::vector<Rereads> again;
  for (std::size_t k = 0; k < draft.kernels.size(); ++k) {
    again.push_back(rereads_of(draft.kernels[k], machine.traits, infos[k].occupancy));
    text += kernel_text(draft.kernels[k], infos[k], again[k], k);
  }
  text += total_text(draft, call, again);
  if (machine.traits.cuda && runtime::disassembler().empty())
    text += "no machine code: nvdisasm and cuobjdump are neither in PATH nor in a CUDA toolkit\n";
  return text;
}

}  // namespace kiln::dsl
