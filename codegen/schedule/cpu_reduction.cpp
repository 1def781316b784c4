// codegen/schedule/cpu_reduction.cpp -- rows or columns, chunks of long rows, and the units of work that follow.
#include "codegen/schedule/cpu_reduction.h"

#include <algorithm>
#include <numeric>

#include "codegen/schedule/arithmetic.h"
#include "codegen/schedule/schedule.h"

namespace kiln::codegen {
namespace {

constexpr std::int64_t buffer_bytes = 16 << 10;  ///< of all states of a block of columns: half of a first-level cache
constexpr std::int64_t short_row = 16;           ///< elements of a row that fill few vectors
constexpr std::size_t short_row_bytes = 192;     ///< of a row whose elements are read only; measured
constexpr std::int64_t widest_vector = 256;      ///< lanes of the widest vector; blocks hold whole vectors

/// Most bytes follow one another along the last kept axis.
bool prefers_columns(const Kernel& kernel) {
  const int kept = kernel.rank - kernel.reduced;
  if (kept == 0) return false;
  std::size_t along_rows = 0, along_columns = 0;
  for (const Access& access : kernel.accesses) {
    if (access.gathers == 0 && (access.iota || !is_per_element(kernel, access))) continue;
    if (access.gathers == 0 && is_shared_by_rows(kernel, access)) continue;
    const std::size_t bytes = access.gathers > 0 ? std::size_t{8} * access.gathers : size_of(access.type);
    if (access.axes.back() == AxisClass::contiguous) along_rows += bytes;
    if (access.axes[static_cast<std::size_t>(kept) - 1] == AxisClass::contiguous) along_columns += bytes;
  }
  return along_columns > along_rows;
}

bool has_dependent_scans(const Kernel& kernel) {
  std::vector<char> scanned(kernel.body.size(), 0);
  for (NodeId id = 0; id < kernel.body.size(); ++id) {
    const Node& node = kernel.body[id];
    for (const NodeId operand : node.inputs()) scanned[id] |= scanned[operand];
    if (node.kind != NodeKind::scan) continue;
    if (scanned[id] != 0) return true;
    scanned[id] = 1;
  }
  return false;
}

/// Elements of a row that one unit joins.
std::int64_t chunk_of(const Kernel& kernel, std::int64_t rows, std::int64_t inner) {
  if (stages_of(kernel).scans.empty()) return cpu_chunk_elements;
  if (rows >= cpu_scan_rows) return std::max<std::int64_t>(1, inner);
  return std::max(cpu_chunk_elements, ceil_divide(inner, cpu_scan_chunks));
}

/// Bytes per column of states and of values kept between the passes.
std::int64_t column_bytes(const Kernel& kernel, const CpuReduction& form) {
  std::int64_t bytes = 0;
  for (const DType type : form.components) bytes += static_cast<std::int64_t>(size_of(type));
  const Stages stages = stages_of(kernel);
  for (NodeId id = 0; id < kernel.body.size(); ++id) {
    if (stages.per_element[id] == 0 && kernel.body[id].arity > 0)
      bytes += static_cast<std::int64_t>(size_of(kernel.body[id].type));
  }
  return bytes;
}

std::int64_t product(const Extents& extents, int from, int to) {
  return std::accumulate(extents.loop.begin() + from, extents.loop.begin() + to, std::int64_t{1}, std::multiplies<>());
}

/// Rows so short that vectors run across them: each then fills few vectors, and its end costs more than its elements.
bool has_short_rows(const Kernel& kernel, const Extents& extents) {
  const int kept = kernel.rank - kernel.reduced;
  const std::int64_t columns = kept > 0 ? extents.loop[static_cast<std::size_t>(kept) - 1] : 1;
  const std::int64_t inner = product(extents, kept, kernel.rank);
  if (columns < 4 * short_row) return false;
  if (inner <= short_row || stages_of(kernel).has_element_outputs) return inner <= short_row;
  return std::all_of(kernel.accesses.begin(), kernel.accesses.end(), [&](const Access& access) {
    if (access.iota || !is_per_element(kernel, access)) return true;
    const std::size_t bytes = size_of(access.type);  // of small types a vector holds whole rows
    return bytes >= 4 && bytes * static_cast<std::size_t>(inner) <= short_row_bytes;
  });
}

}  // namespace

std::vector<DType> state_components(const Graph& body, NodeId node) {
  const ReductionSpec& spec = body.reduction(body[node]);
  std::vector<DType> types;
  if (spec.combiner) {
    for (const NodeId output : spec.combiner->outputs) types.push_back((*spec.combiner)[output].type);
    const bool is_running = spec.kind == Reduction::logsumexp || spec.kind == Reduction::squared_deviations;
    if (is_running) types.insert(types.end(), 2, types[0]);
  } else {
    const DType type = body[node].type;
    const bool is_extreme = spec.kind == Reduction::max || spec.kind == Reduction::min;
    types.push_back(type);
    if (spec.kind == Reduction::sum && is_floating(type)) types.push_back(type);
    if (is_extreme && type == DType::f32) types.insert(types.end(), {DType::i32, DType::i32});
  }
  return types;
}

Schedule choose_cpu_reduction(const Kernel& kernel, const Extents& extents) {
  Schedule schedule;
  schedule.block = 1;
  const bool is_short = has_short_rows(kernel, extents);
  if (is_short || prefers_columns(kernel)) {
    schedule.form = Template::column_reduction;
    schedule.reason = is_short ? "CPU: rows fill few vectors: vectors run across rows"
                               : "CPU: operands are contiguous along a kept axis: vectors run along it";
  } else {
    schedule.form = Template::row_reduction;
    schedule.reason = "CPU: vectors run along the rows; long rows are joined in chunks";
  }
  return schedule;
}

CpuReduction cpu_reduction(const Kernel& kernel, Template chosen) {
  CpuReduction form;
  const Stages stages = stages_of(kernel);
  form.columns = chosen == Template::column_reduction || (chosen != Template::row_reduction && prefers_columns(kernel));
  if (stages.scans.empty()) {
    form.splits = stages.passes.size() == 1 && !stages.has_element_outputs;
  } else {
    // The totals of chunks come first, so no scan may need another.
    form.splits = !form.columns && kernel.reduced == 1 && !has_dependent_scans(kernel);
  }
  for (NodeId id = 0; id < kernel.body.size(); ++id) {
    const NodeKind kind = kernel.body[id].kind;
    if (kind != NodeKind::reduce && kind != NodeKind::scan) continue;
    const std::vector<DType> components = state_components(kernel.body, id);
    form.components.insert(form.components.end(), components.begin(), components.end());
  }
  if (form.columns) {
    const std::int64_t fitting = buffer_bytes / std::max<std::int64_t>(1, column_bytes(kernel, form));
    form.column_block = std::clamp(fitting / widest_vector, std::int64_t{1}, std::int64_t{8}) * widest_vector;
  }
  return form;
}

LaunchShape cpu_reduction_shape(const Kernel& kernel, const Extents& extents) {
  const CpuReduction form = cpu_reduction(kernel, choose_cpu_reduction(kernel, extents).form);
  const int kept = kernel.rank - kernel.reduced;
  LaunchShape shape;
  std::int64_t states = 0, chunks = 1, per_unit = 1;
  if (form.columns) {
    const std::int64_t columns = extents.loop[static_cast<std::size_t>(kept) - 1];
    const std::int64_t blocks = ceil_divide(columns, form.column_block), outer = product(extents, 0, kept - 1);
    const std::int64_t lines = product(extents, kept, kernel.rank);
    std::int64_t per_chunk = std::max<std::int64_t>(1, lines);
    if (form.splits) {
      const std::int64_t least = std::max<std::int64_t>(1, cpu_chunk_elements / std::min(columns, form.column_block));
      const std::int64_t wanted = std::max<std::int64_t>(1, cpu_column_units / (outer * blocks));
      per_chunk = std::max(least, ceil_divide(lines, wanted));
      chunks = std::max<std::int64_t>(1, ceil_divide(lines, per_chunk));
    }
    shape.units = outer * chunks * blocks;
    states = outer * chunks * columns;
    if (chunks > 1) shape.finish_units = outer * blocks;
    per_unit = std::min(per_chunk, lines) * std::min(columns, form.column_block);
  } else {
    const std::int64_t rows = product(extents, 0, kept), inner = extents.loop.back();
    const std::int64_t lines = product(extents, kept, kernel.rank - 1);
    per_unit = lines * inner;
    if (form.splits) {
      const std::int64_t chunk = chunk_of(kernel, rows, inner);
      const std::int64_t blocks = std::max<std::int64_t>(1, ceil_divide(inner, chunk));
      const std::int64_t per_chunk = std::max<std::int64_t>(1, chunk / std::max<std::int64_t>(1, inner));
      chunks = std::max<std::int64_t>(1, ceil_divide(lines, per_chunk)) * blocks;
      per_unit = std::min(per_chunk, lines) * std::min(inner, chunk);
    }
    shape.units = states = rows * chunks;
    if (chunks > 1) shape.finish_units = stages_of(kernel).scans.empty() ? rows : shape.units;
  }
  if (chunks > 1) {
    for (const DType type : form.components)
      shape.workspace_bytes += static_cast<std::uint64_t>(states) * size_of(type);
  }
  shape.grain = std::max<std::int64_t>(1, cpu_chunk_elements / std::max<std::int64_t>(1, per_unit));
  return shape;
}

}  // namespace kiln::codegen
