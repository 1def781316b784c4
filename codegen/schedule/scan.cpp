// codegen/schedule/scan.cpp -- how running reductions are mapped to threads.
//
// Pieces of a row are scanned by threads, lanes, warps and the block in turn. Rows of one piece need no more; longer
// rows are walked piece by piece by one block, or, where there are few rows, every piece has a block of its own that
// looks back at the pieces before it.
#include "codegen/schedule/scan.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "codegen/ir/reduction.h"
#include "codegen/ir/stages.h"
#include "codegen/schedule/arithmetic.h"
#include "codegen/schedule/column_reduction.h"
#include "codegen/schedule/row_mapping.h"
#include "codegen/schedule/state_bytes.h"
#include "codegen/schedule/vector_width.h"
#include "support/check.h"

namespace kiln::codegen {
namespace {

constexpr int access_bytes = 16;
constexpr int piece_bytes = 192;        ///< operands and states of one thread, where a block walks along its rows
constexpr int split_piece_bytes = 320;  ///< the same where blocks look back: fewer pieces, fewer threads
constexpr std::int64_t most_blocks = 0x7fffffff;  ///< along x of a grid, where pieces look back

struct Work {
  std::int64_t kept = 1, length = 1;
  std::size_t vector_axis = 0;  ///< along which vectors run
  int vector = 1;
  int bytes = 1;        ///< of one element: operands and states
  int state_bytes = 0;  ///< of those, states
};

/// The widest vector along the vector axis by which most bytes move whole; `divides`: it must divide the extent.
int choose_vector(const Kernel& kernel, const Work& work, std::int64_t extent, bool divides) {
  const auto moves = [&](const Access& access) {
    return !access.iota && access.axes[work.vector_axis] != AxisClass::broadcast;
  };
  const int widest = static_cast<int>(widest_element(kernel, moves));
  for (int vector = std::max(1, access_bytes / widest); vector > 1; vector /= 2) {
    if ((divides && extent % vector != 0) || extent < vector || vector * work.bytes > piece_bytes) continue;
    const auto is_whole = [&](const Access& access) {
      return access.axes[work.vector_axis] == AxisClass::contiguous &&
             std::count(access.axes.begin(), access.axes.end(), AxisClass::contiguous) == 1 &&
             access.alignment >= vector * static_cast<int>(size_of(access.type));
    };
    if (most_bytes_move_whole(kernel, moves, is_whole)) return vector;
  }
  return 1;
}

Work work_of(const Kernel& kernel, const Extents& extents, bool columns) {
  Work work;
  for (int axis = 0; axis + 1 < kernel.rank; ++axis) work.kept *= extents.loop[static_cast<std::size_t>(axis)];
  work.length = extents.loop.back();
  work.vector_axis = static_cast<std::size_t>(columns ? kernel.rank - 2 : kernel.rank - 1);
  std::size_t bytes = 0;
  for (const Access& access : kernel.accesses) {
    if (!access.iota && !access.store && is_per_element(kernel, access)) bytes += size_of(access.type);
  }
  for (const Node& node : kernel.body.nodes()) {
    if (node.kind == NodeKind::scan) work.state_bytes += static_cast<int>(std::max<std::size_t>(4, size_of(node.type)));
  }
  work.bytes = static_cast<int>(bytes) + work.state_bytes;
  work.vector = choose_vector(kernel, work, extents.loop[work.vector_axis], columns);
  return work;
}

/// Threads own vectors of columns; `columns` of them stand side by side, the others take the rows between.
void along_columns(const Work& work, const DeviceTraits& device, Schedule& schedule) {
  schedule.lanes = 0;
  schedule.whole_vectors = true;
  const std::int64_t vectors = work.kept / work.vector;
  const std::int64_t batches = ceil_divide(work.length, schedule.items);
  const std::int64_t wanted = std::int64_t{2} * device.multiprocessors;
  std::int64_t along = batches >= 8 ? 8 : power_of_two_up(batches);
  while (along < 16 && batches > along && ceil_divide(vectors * along, schedule.block) < wanted) along *= 2;
  std::int64_t across = std::min(schedule.block / along, power_of_two_up(vectors));
  along = std::min(schedule.block / across, power_of_two_up(batches));
  across = std::max(across, 32 / along);
  schedule.columns = static_cast<int>(across);
  schedule.rows = static_cast<int>(along);
  const std::int64_t tiles = ceil_divide(vectors, across);
  const std::int64_t pieces = ceil_divide(batches, along);
  schedule.split = tiles < device.multiprocessors && pieces >= 4 && pieces * tiles <= most_blocks;
}

/// Lanes share a short row; a block takes a long one.
void along_rows(const Work& work, const DeviceTraits& device, std::int64_t inner, Schedule& schedule) {
  schedule.whole_vectors = inner % work.vector == 0;
  const std::int64_t vectors = ceil_divide(work.length, work.vector);
  if (vectors <= std::int64_t{32} * schedule.items) {
    schedule.lanes = static_cast<int>(std::min<std::int64_t>(32, power_of_two_up(vectors)));
    schedule.items = static_cast<int>(power_of_two_up(ceil_divide(vectors, schedule.lanes)));
    return;
  }
  schedule.lanes = schedule.block;
  while (schedule.items > 1 && vectors <= std::int64_t{schedule.block} * schedule.items / 2) schedule.items /= 2;
  const std::int64_t pieces = ceil_divide(vectors, std::int64_t{schedule.block} * schedule.items);
  schedule.split =
      work.kept < std::int64_t{2} * device.multiprocessors && pieces >= 4 && pieces * work.kept <= most_blocks;
}

/// Pieces of one row.
std::int64_t pieces_of(const Schedule& schedule, std::int64_t length) {
  const std::int64_t piece = schedule.lanes == 0 ? std::int64_t{schedule.rows} * schedule.items
                                                 : std::int64_t{schedule.lanes} * schedule.vector * schedule.items;
  return ceil_divide(length, piece);
}

}  // namespace

std::vector<std::vector<NodeId>> scan_groups(const Graph& body) {
  std::vector<std::size_t> depth(body.size(), 0);
  std::vector<std::vector<NodeId>> groups;
  for (NodeId id = 0; id < body.size(); ++id) {
    for (const NodeId operand : body[id].inputs()) depth[id] = std::max(depth[id], depth[operand]);
    if (body[id].kind != NodeKind::scan) continue;
    if (groups.size() <= depth[id]) groups.resize(depth[id] + 1);
    groups[depth[id]++].push_back(id);
  }
  return groups;
}

Schedule choose_scan(const Kernel& kernel, const Extents& extents, const DeviceTraits& device) {
  KILN_INTERNAL_CHECK(kernel.reduced == 1, "a scan along {} axes", kernel.reduced);
  const bool columns = kernel.rank > 1 && runs_along_columns(kernel, extents);
  const Work work = work_of(kernel, extents, columns);
  Schedule schedule;
  schedule.form = Template::scan;
  schedule.layers = may_need_layers(kernel, extents);
  schedule.block = 256;
  schedule.vector = work.vector;
  const auto map_to_threads = [&](int bytes) {
    schedule.items = static_cast<int>(
        std::bit_floor(static_cast<unsigned>(std::clamp<int>(bytes / (work.vector * work.bytes), 1, 8))));
    while (schedule.items > 1 && static_cast<int>(kernel.body.size()) * schedule.items * work.vector > 2048)
      schedule.items /= 2;
    if (columns) {
      along_columns(work, device, schedule);
    } else {
      along_rows(work, device, extents.loop.back(), schedule);
    }
  };
  map_to_threads(piece_bytes);
  if (schedule.split) map_to_threads(split_piece_bytes);
  const bool many_registers = schedule.split || work.state_bytes > 8 || work.vector * work.bytes * schedule.items > 192;
  schedule.min_blocks = kernel.body.size() > 400 ? 0 : (many_registers ? 512 : 1024) / schedule.block;
  schedule.reason =
      fmt::format("running values along {}; {} elements per thread{}",
                  columns                ? "a strided axis: a thread per vector of columns"
                  : schedule.lanes <= 32 ? "short rows: lanes share one"
                                         : "long rows: a block walks along one",
                  schedule.vector * schedule.items,
                  schedule.split ? "; few rows: a block per piece, which looks back at those before" : "");
  return schedule;
}

LaunchShape scan_launch_shape(const Kernel& kernel, const Schedule& schedule, const Extents& extents) {
  std::int64_t kept = 1;
  for (int axis = 0; axis + 1 < kernel.rank; ++axis) kept *= extents.loop[static_cast<std::size_t>(axis)];
  LaunchShape shape;
  std::int64_t tiles = kept, width = 1;
  if (schedule.lanes == 0) {
    shape.block = {static_cast<std::uint32_t>(schedule.columns), static_cast<std::uint32_t>(schedule.rows), 1};
    width = std::int64_t{schedule.columns} * schedule.vector;
    tiles = ceil_divide(kept, width);
  } else {
    shape.block = {static_cast<std::uint32_t>(schedule.block), 1, 1};
    if (schedule.lanes <= 32) tiles = ceil_divide(kept, schedule.block / schedule.lanes);
  }
  const std::int64_t blocks = schedule.split ? tiles * pieces_of(schedule, extents.loop.back()) : tiles;
  set_grid(shape, blocks);
  if (!schedule.split) return shape;
  KILN_INTERNAL_CHECK(shape.grid[1] == 1, "{} pieces of a scan exceed the grid", blocks);
  const auto groups = scan_groups(kernel.body);
  shape.counters = 2 + shape.grid[0] * static_cast<std::uint32_t>(groups.size());
  for (const auto& group : groups)  // what each block adds, and what precedes its end, with what rounding lost
    shape.workspace_bytes += static_cast<std::uint64_t>(blocks * width) * 3 * state_bytes(kernel, group);
  return shape;
}

}  // namespace kiln::codegen
