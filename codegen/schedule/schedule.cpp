// codegen/schedule/schedule.cpp -- the heuristic schedule of an elementwise kernel and the launch shape that goes with
// it.
//
// On memory-bound kernels what counts, in order, is bytes in flight, 16-byte accesses on every operand and no ragged
// last wave: one tile per block, one vector per thread and operand, no grid-stride loop and no cache hints.
#include "codegen/schedule/schedule.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "codegen/schedule/arithmetic.h"
#include "codegen/schedule/scatter.h"
#include "codegen/schedule/transpose.h"
#include "codegen/schedule/value_order.h"
#include "codegen/schedule/vector_width.h"
#include "support/check.h"

namespace kiln::codegen {
namespace {

constexpr int access_bytes = 16;
constexpr std::int64_t grid_limit_yz = 65535;
constexpr std::int64_t grid_limit_x = 0x7fffffff;

AxisClass inner_class(const Access& access) { return access.axes.empty() ? AxisClass::broadcast : access.axes.back(); }

/// Elements along the innermost axis that one access may cover.
int contiguous_width(const Access& access) {
  if (inner_class(access) != AxisClass::contiguous || access.is_folded(access.axes.size() - 1)) return 1;
  const int size = static_cast<int>(size_of(access.type));
  for (std::size_t axis = 0; axis + 1 < access.axes.size(); ++axis) {
    if (access.axes[axis] == AxisClass::contiguous) return 1;
  }
  return std::max(1, std::min<int>(access.alignment, access_bytes) / size);
}

/// True where every row reads the same elements: they come from the caches.
bool is_shared_by_rows(const Access& access) {
  return access.axes.size() > 1 &&
         std::all_of(access.axes.begin(), access.axes.end() - 1, [](AxisClass c) { return c == AxisClass::broadcast; });
}

/// Bytes per element of the widest operand that moves along the innermost axis.
int widest(const Kernel& kernel) {
  std::size_t bytes = 1;
  for (const Access& access : kernel.accesses) {
    if (access.iota || access.places || access.scatter != Scatter::none) continue;
    if ((access.store || inner_class(access) != AxisClass::broadcast)) bytes = std::max(bytes, size_of(access.type));
  }
  return static_cast<int>(bytes);
}

/// The largest vector by which most bytes move whole; an operand that cannot follow is read in narrower accesses.
int choose_vector(const Kernel& kernel, int limit) {
  const auto moves = [](const Access& access) {
    return !access.iota && inner_class(access) != AxisClass::broadcast && !is_shared_by_rows(access);
  };
  for (int vector = limit; vector > 1; vector /= 2) {
    const auto is_whole = [&](const Access& access) { return contiguous_width(access) >= vector; };
    if (most_bytes_move_whole(kernel, moves, is_whole)) return vector;
  }
  return 1;
}

/// Operations that cost tens of instructions: transcendental functions, division, anything in f64 beyond + - *.
int heavy_operations(const Kernel& kernel) {
  int heavy = 0;
  for (const Node& node : kernel.body.nodes()) {
    if (node.kind != NodeKind::operation) continue;
    const bool function = (node.op >= Op::sqrt && node.op <= Op::tgamma) || node.op == Op::pow ||
                          node.op == Op::hypot || node.op == Op::fmod || node.op == Op::div || node.op == Op::mod;
    if (function) heavy += node.type == DType::f64 ? 4 : 1;
  }
  return heavy;
}

/// 32-bit registers that hold the loads of one thread; results take the places of operands.
int operand_registers(const Kernel& kernel, int elements) {
  std::size_t bytes = 0;
  for (const Access& access : kernel.accesses) {
    if (!access.iota && !access.store) bytes += size_of(access.type) * static_cast<std::size_t>(elements);
  }
  return static_cast<int>(bytes / 4);
}

/// A long body times a wide vector costs registers and compile time and gains nothing where arithmetic sets the pace:
/// more than one heavy operation per four bytes moved.
int limit_by_body(const Kernel& kernel, int vector, int bytes) {
  const int heavy = heavy_operations(kernel);
  const auto nodes = static_cast<int>(kernel.body.size());
  std::size_t moved = 0;
  for (const Access& access : kernel.accesses) moved += access.iota ? 0 : size_of(access.type);
  const bool bound_by_arithmetic = static_cast<std::size_t>(heavy) * 4 > moved;
  // Values that wait for others; a thread holds them once for each element.
  const int held = nodes > 100 ? order_values(kernel.body, recomputed_nodes(kernel.body)).registers : 0;
  const auto crowded = [&](int v) { return held * v > 192 || operand_registers(kernel, v) > 256; };
  const auto too_long = [&](int v) {
    return (bound_by_arithmetic && heavy * v > 64) || nodes * v > 2048 || crowded(v);
  };
  while (vector > 1 && vector * bytes > 4 && too_long(vector)) vector /= 2;
  return vector;
}

/// Blocks per multiprocessor to promise: 64 registers per thread for ordinary bodies, so that all loads are issued
/// first; 128, or no bound, where the operands or the body itself need registers.
int choose_min_blocks(const Kernel& kernel, int block, int elements) {
  const int registers = operand_registers(kernel, elements);
  if (heavy_operations(kernel) > 32 || kernel.body.size() > 400 || registers > 88) return 0;
  const auto nodes = kernel.body.nodes();
  const bool wide_function = std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
    return node.kind == NodeKind::operation && node.type == DType::f64 &&
           ((node.op >= Op::cbrt && node.op <= Op::tgamma) || node.op == Op::pow);
  });
  return (wide_function || registers > 40 ? 512 : 1024) / block;
}

/// Tiles pay where both extents hold at least one tile.
bool wants_transpose(const Kernel& kernel, const Extents& extents, int tile) {
  const int axis = turned_axis(kernel);
  if (axis < 0 || turned_accesses(kernel, tile).empty()) return false;
  return extents.loop[static_cast<std::size_t>(axis)] >= 32 && extents.loop.back() >= 32;
}

Schedule transposing(const Kernel& kernel) {
  Schedule schedule;
  schedule.form = Template::transpose;
  const int bytes = widest(kernel);
  schedule.tile = bytes > 4 ? 32 : 64;
  schedule.vector = std::min(access_bytes / bytes, schedule.tile * schedule.tile / schedule.block);
  schedule.min_blocks = choose_min_blocks(kernel, schedule.block, schedule.tile * schedule.tile / schedule.block);
  schedule.reason = fmt::format(
      "an operand is contiguous along axis {}, the output along the last: {} x {} tiles through "
      "shared memory keep both sides in full vectors",
      turned_axis(kernel), schedule.tile, schedule.tile);
  return schedule;
}

bool has_broadcast_axis(const Access& access) {
  return std::find(access.axes.begin(), access.axes.end(), AxisClass::broadcast) != access.axes.end();
}

/// Elements per thread of the dense form; 1 where it does not apply: results must be dense, and most of what moves.
int dense_vector(const Kernel& kernel) {
  std::size_t widest_dense = 1, dense = 0, gathered = 0;
  for (const Access& access : kernel.accesses) {
    if (access.store && access.dense_alignment == 0) return 1;
    if (access.dense_alignment > 0) {
      widest_dense = std::max(widest_dense, size_of(access.type));
      dense += size_of(access.type);
    } else if (!access.iota && !has_broadcast_axis(access)) {
      gathered += size_of(access.type);
    }
  }
  if (dense <= gathered) return 1;
  const int bytes = static_cast<int>(widest_dense);
  return limit_by_body(kernel, std::max(1, access_bytes / bytes), bytes);
}

std::int64_t element_count(const Extents& extents) {
  return std::accumulate(extents.loop.begin(), extents.loop.end(), std::int64_t{1}, std::multiplies<>());
}

Schedule dense_schedule(const Kernel& kernel, const Extents& extents, int vector) {
  Schedule schedule;
  schedule.form = Template::dense;
  schedule.vector = vector;
  schedule.whole_vectors = element_count(extents) % vector == 0;
  schedule.min_blocks = choose_min_blocks(kernel, schedule.block, vector);
  if (kernel.index == IndexWidth::bits64)
    schedule.min_blocks /= 2;  // coordinates and addresses take twice the registers
  schedule.reason = fmt::format(
      "the innermost axis is short and results are dense: {} elements per thread across rows, coordinates stepped",
      vector);
  return schedule;
}

Schedule cpu_schedule() {
  Schedule schedule;
  schedule.form = Template::serial;
  schedule.block = 1;
  schedule.reason = "CPU: a loop nest split into units of work";
  return schedule;
}

/// Threads along the innermost axis and rows per block that leave the fewest threads idle.
std::array<std::uint32_t, 2> block_shape(std::int64_t vectors, int threads) {
  std::int64_t best_columns = threads;
  double best = -1;
  for (std::int64_t columns = std::min<std::int64_t>(threads, vectors); columns >= 1; --columns) {
    const std::int64_t rows = threads / columns;
    const double along = static_cast<double>(vectors) / static_cast<double>(ceil_divide(vectors, columns) * columns);
    const double filled = along * static_cast<double>(columns * rows) / threads;
    if (filled > best + 0.02) best = filled, best_columns = columns;
    if (columns * 8 <= vectors && columns < 32) break;  // narrower blocks lose more in memory rows than they gain
  }
  return {static_cast<std::uint32_t>(best_columns), static_cast<std::uint32_t>(threads / best_columns)};
}

/// `blocks` spread over grid y and z, which hold 65535 each; kernels return from the blocks beyond the end.
void fold(LaunchShape& shape, std::int64_t blocks) {
  const std::int64_t z = std::max<std::int64_t>(1, ceil_divide(blocks, grid_limit_yz));
  KILN_INTERNAL_CHECK(z <= grid_limit_yz, "{} blocks of rows exceed the grid", blocks);
  shape.grid[1] = static_cast<std::uint32_t>(ceil_divide(std::max<std::int64_t>(blocks, 1), z));
  shape.grid[2] = static_cast<std::uint32_t>(z);
}

std::uint32_t grid_x(std::int64_t blocks) {
  KILN_INTERNAL_CHECK(blocks <= grid_limit_x, "{} blocks exceed the grid", blocks);
  return static_cast<std::uint32_t>(std::max<std::int64_t>(blocks, 1));
}

}  // namespace

std::string Schedule::key() const {
  std::string text = fmt::format("{}/b{}/v{}/i{}/t{}/m{}/{}", static_cast<int>(form), block, vector, items, tile,
                                 min_blocks, whole_vectors ? "whole" : "any");
  if (form == Template::window) return text + fmt::format("/lead{}", lead);
  if (bins > 0) text += fmt::format("/bins{}", bins);
  if (form < Template::row_reduction) return grid > 0 ? text + "/p" : text;
  return text + fmt::format("/l{}/r{}/{}{}{}{}{}{}c{}", lanes, rows, resident ? "h" : "", whole_rows ? "w" : "",
                            shifted ? "a" : "", split ? "s" : "", grid > 0 ? "p" : "", layers ? "z" : "", cluster);
}

Schedule choose_schedule(const Kernel& kernel, const Extents& extents, const DeviceTraits& device) {
  KILN_INTERNAL_CHECK(extents.loop.size() == static_cast<std::size_t>(kernel.rank), "{} extents for rank {}",
                      extents.loop.size(), kernel.rank);
  if (!device.cuda) return kernel.reduced > 0 ? choose_cpu_reduction(kernel, extents) : cpu_schedule();
  if (kernel.reduced > 0) return choose_reduction(kernel, extents, device);
  if (kernel.has_windows()) return choose_window(kernel, extents);
  const int bytes = widest(kernel);
  if (kernel.rank >= 2 && wants_transpose(kernel, extents, bytes > 4 ? 32 : 64)) return transposing(kernel);

  Schedule schedule;
  schedule.form = kernel.rank < 2 ? Template::flat : kernel.rank == 2 ? Template::rows : Template::general;
  if (kernel.rank == 0) {
    schedule.block = 32;
    schedule.min_blocks = 0;
    schedule.whole_vectors = true;
    schedule.reason = "a single element: one thread";
    return schedule;
  }
  const std::int64_t inner = extents.loop.back();
  const int limit = limit_by_body(kernel, std::max(1, access_bytes / bytes), bytes);
  int vector = choose_vector(kernel, limit);
  while (vector > 1 && inner % vector != 0 && inner < 8 * vector) vector /= 2;
  if (const int dense = kernel.rank >= 2 ? dense_vector(kernel) : 1; dense > vector)
    return dense_schedule(kernel, extents, dense);
  schedule.vector = vector;
  schedule.whole_vectors = inner % vector == 0;
  schedule.items = std::clamp(limit / vector, 1, 8);
  if (kernel.rank >= 2) {
    while (schedule.items > 1 && ceil_divide(inner, vector) < 32 * schedule.items) schedule.items /= 2;
  }
  schedule.min_blocks = choose_min_blocks(kernel, schedule.block, vector * schedule.items);
  if (kernel.bins_parameter >= 0) {
    schedule.bins = bin_capacity(kernel, extents.bins);
    schedule.grid = 8 * device.multiprocessors;
    schedule.min_blocks = 0;
    schedule.reason = fmt::format("blocks join into {} sums of their own first, in shared memory", extents.bins);
    return schedule;
  }
  const bool aligned = vector * bytes >= access_bytes;
  schedule.reason = fmt::format(
      "{}; {} element{} per access{}",
      schedule.form == Template::flat   ? "one contiguous run: one tile per block"
      : schedule.form == Template::rows ? "rows with a vectorised inner axis"
                                        : "several outer axes: rows decoded once per thread, vectorised inner axis",
      vector, vector == 1 ? "" : "s",
      aligned ? " (16 bytes on the widest operand)" : " (strides, alignment, length or the body allow no more)");
  return schedule;
}

LaunchShape launch_shape(const Kernel& kernel, const Schedule& schedule, const Extents& extents) {
  LaunchShape shape;
  if (kernel.rank == 0) return shape;
  if (kernel.reduced > 0) return reduction_launch_shape(kernel, schedule, extents);
  const auto& n = extents.loop;
  const std::int64_t inner = n.back();
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis + 1 < n.size(); ++axis) rows *= n[axis];
  if (schedule.form == Template::window) {
    const WindowGrid grid = window_grid(kernel, schedule, extents);
    shape.block = {static_cast<std::uint32_t>(schedule.columns),
                   static_cast<std::uint32_t>(schedule.block / schedule.columns), 1};
    shape.grid[0] = grid_x(grid.columns);
    fold(shape, grid.rows);
  } else if (schedule.form == Template::flat) {
    shape.block[0] = static_cast<std::uint32_t>(schedule.block);
    shape.grid[0] = grid_x(ceil_divide(inner, std::int64_t{schedule.block} * schedule.vector * schedule.items));
    if (schedule.grid > 0) shape.grid[0] = std::min(shape.grid[0], static_cast<std::uint32_t>(schedule.grid));
  } else if (schedule.form == Template::dense) {
    shape.block[0] = static_cast<std::uint32_t>(schedule.block);
    shape.grid[0] = grid_x(ceil_divide(element_count(extents), std::int64_t{schedule.block} * schedule.vector));
  } else if (schedule.form == Template::transpose) {
    const std::int64_t turned = n[static_cast<std::size_t>(turned_axis(kernel))];
    shape.block[0] = static_cast<std::uint32_t>(schedule.block);
    shape.grid[0] = grid_x(ceil_divide(inner, schedule.tile));
    fold(shape, ceil_divide(turned, schedule.tile) * (turned > 0 ? rows / turned : 0));
  } else {
    const auto columns = static_cast<std::uint32_t>(schedule.columns);
    const auto block =
        columns > 1 ? std::array{columns, static_cast<std::uint32_t>(schedule.block) / columns}
                    : block_shape(ceil_divide(inner, std::int64_t{schedule.vector} * schedule.items), schedule.block);
    shape.block = {block[0], block[1], 1};
    shape.grid[0] = grid_x(ceil_divide(inner, std::int64_t{block[0]} * schedule.vector * schedule.items));
    fold(shape, ceil_divide(rows, block[1]));
  }
  return shape;
}

}  // namespace kiln::codegen
