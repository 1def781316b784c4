// dsl/explain.cpp -- the text of explain().
#include "dsl/explain.h"

#include <algorithm>

#include <fmt/format.h>

#include "codegen/ir/stages.h"
#include "dsl/shapes.h"

namespace kiln::dsl {
namespace {

constexpr int max_registers_per_thread = 255;

/// Shared memory of a multiprocessor, all of it given to blocks.
std::uint64_t shared_memory(int compute_capability) {
  const int kib = compute_capability >= 120  ? 100
                  : compute_capability >= 90 ? 228
                  : compute_capability == 80 ? 164
                  : compute_capability == 87 ? 164
                  : compute_capability > 80  ? 100
                  : compute_capability >= 75 ? 64
                                             : 96;
  return static_cast<std::uint64_t>(kib) << 10;
}

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
                        access.store  ? "store"
                        : access.iota ? "index"
                                      : "load",
                        name_of(access.type), strides_text(draft.nest, a));
    if (!access.iota) text += fmt::format(", aligned to {} bytes", access.alignment);
    text += folds_text(draft.nest.walks[a]);
    text += access.aliased ? ", computed in place\n" : "\n";
  }
  return text;
}

std::int64_t elements_touched(const DraftKernel& draft, std::size_t access) {
  std::int64_t elements = 1;
  for (int axis = 0; axis < draft.nest.shape.rank; ++axis)
    if (draft.nest.walks[access].strides[axis] != 0) elements *= draft.nest.shape.extents[axis];
  return elements;
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

std::string kernel_text(const DraftKernel& draft, const KernelInfo& info, std::size_t number) {
  std::string text = fmt::format("kernel {}: {}\n  computes {}\n  loop {} with {}-bit indices, schedule {}: {}\n",
                                 number, info.name.c_str(), draft.kernel.comment, loop_text(draft),
                                 draft.kernel.index == codegen::IndexWidth::bits32 ? 32 : 64, draft.schedule.key(),
                                 draft.schedule.reason);
  text += access_lines(draft);
  text += passes_text(draft);
  text += fmt::format("  moves {} bytes, the least possible for its operands\n", draft.bytes_moved);
  if (info.registers >= 0) {
    text += fmt::format("  {} registers, {} bytes spilled, {} bytes of shared memory", info.registers,
                        std::max(0, info.spills),
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
      bytes[base] =
          std::max(bytes[base], elements_touched(kernel, a) * static_cast<std::int64_t>(size_of(access.type)));
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

std::string total_text(const Draft& draft, const detail::Call& call) {
  std::int64_t moved = 0;
  for (const DraftKernel& kernel : draft.kernels) moved += kernel.bytes_moved;
  const std::int64_t least = least_bytes(draft, call.input_count, call.target_count);
  std::string text = fmt::format("moves {} bytes; the least possible is {}", moved, least);
  if (least > 0 && moved > least)
    text += fmt::format(" ({:.2f} times)", static_cast<double>(moved) / static_cast<double>(least));
  return text + '\n';
}

}  // namespace

double occupancy(int registers, unsigned block, std::uint64_t shared_bytes, const codegen::DeviceTraits& traits) {
  if (registers <= 0 || registers > max_registers_per_thread || block == 0) return -1;
  // 64 Ki registers, allotted by warps in units of 256; 1 KiB of shared memory per block is the system's.
  const unsigned most_warps = static_cast<unsigned>(traits.threads_per_multiprocessor) / 32;
  const unsigned warps = (block + 31) / 32;
  const unsigned registers_per_warp = (static_cast<unsigned>(registers) * 32 + 255) / 256 * 256;
  const unsigned by_registers = 65536 / registers_per_warp / warps;
  const auto by_shared = static_cast<unsigned>(shared_memory(traits.compute_capability) / (shared_bytes + 1024));
  const unsigned blocks = std::min({by_registers, by_shared, most_warps / warps, 32u});
  return static_cast<double>(blocks * warps) / static_cast<double>(most_warps);
}

std::string explain(const Draft& draft, const detail::Call& call, const Machine& machine,
                    std::span<const KernelInfo> infos) {
  std::string text = fmt::format("{}{}: {} kernel{} for {}\n", call.name ? call.name : "expression", place(call.where),
                                 draft.kernels.size(), draft.kernels.size() == 1 ? "" : "s", machine.arch);
  for (const std::string& note : draft.notes) text += "  " + note + "\n";
  if (draft.kernels.empty()) text += "  every result is empty: nothing is launched\n";
  for (std::size_t k = 0; k < draft.kernels.size(); ++k) text += kernel_text(draft.kernels[k], infos[k], k);
  text += total_text(draft, call);
  if (machine.traits.cuda && runtime::disassembler().empty())
    text += "no machine code: nvdisasm and cuobjdump are neither in PATH nor in a CUDA toolkit\n";
  return text;
}

}  // namespace kiln::dsl
