// codegen/schedule/row_reduction.cpp -- how many lanes a row gets, whether they hold it, and when blocks share it.
//
// What counts is bytes in flight: each thread issues four to eight 16-byte loads before it needs one. Short rows get a
// few lanes of a warp each and meet at no barrier, longer ones a block; a row that registers cannot hold is read in
// steps, once per pass. Where rows are too few for the card, blocks share them.
#include "codegen/schedule/row_reduction.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "codegen/ir/reduction.h"
#include "codegen/ir/stages.h"
#include "codegen/schedule/arithmetic.h"
#include "codegen/schedule/row_mapping.h"
#include "codegen/schedule/state_bytes.h"
#include "codegen/schedule/vector_width.h"
#include "support/check.h"

namespace kiln::codegen {
namespace {

constexpr int access_bytes = 16;
constexpr int held_registers = 32;             ///< of a thread, for the loads of the rows that it holds
constexpr std::int64_t split_bytes = 1 << 17;  ///< from here on a row is worth several blocks
constexpr int split_block = 512;
constexpr int largest_cluster = 16;
/// Of the groups of multiprocessors within which a cluster lies; the largest cluster leaves the rest of one idle.
constexpr int group_multiprocessors = 18;
constexpr int cluster_vectors = 16;  ///< of 16 bytes per thread of a cluster: 12 in shared memory, 4 in registers

/// What one call asks of the schedule.
struct RowWork {
  std::int64_t rows = 1, length = 0;
  bool chain = false;  ///< several passes over a row, or values per element that need its results
  int vector = 1;
  bool shifted = false;
  int registers = 1;       ///< of one thread, for the loads of one vector
  std::int64_t bytes = 0;  ///< loaded per element
  std::int64_t vectors() const { return ceil_divide(length + (shifted ? vector - 1 : 0), vector); }
};

bool is_contiguous(const Kernel& kernel, const Access& access) {
  for (std::size_t axis = 0; axis < access.axes.size(); ++axis) {
    const bool is_last = axis + 1 == access.axes.size();
    if ((access.axes[axis] == AxisClass::contiguous) != is_last) return false;
  }
  return kernel.rank > 0;
}

bool moves_along_rows(const Kernel& kernel, const Access& access) {
  return !access.iota && is_per_element(kernel, access);
}

/// Stands for elements along the row that are found by index.
bool finds_along_rows(const Kernel& kernel, const Access& access) {
  return access.gathers > 0 && is_per_element(kernel, access);
}

/// Read from the caches by every row.
bool is_shared_by_rows(const Kernel& kernel, const Access& access) {
  return kernel.rank > kernel.reduced && std::all_of(access.axes.begin(), access.axes.end() - kernel.reduced,
                                                     [](AxisClass axis) { return axis == AxisClass::broadcast; });
}

/// The largest vector by which most bytes move whole, at most 16 bytes of the widest operand; `aligned`: wherever rows
/// start.
int choose_vector(const Kernel& kernel, const Extents& extents, bool aligned) {
  const auto finds = [&](const Access& access) { return finds_along_rows(kernel, access); };
  const auto moves = [&](const Access& access) { return moves_along_rows(kernel, access) || finds(access); };
  const auto counts = [&](const Access& access) {
    return finds(access) || (moves(access) && !is_shared_by_rows(kernel, access));
  };
  const int widest = static_cast<int>(widest_element(kernel, moves));
  const std::int64_t inner = extents.loop.back();
  for (int vector = std::max(1, access_bytes / widest); vector > 1; vector /= 2) {
    if (inner % vector != 0 && (kernel.reduced > 1 || inner < 8 * vector)) continue;
    const auto is_whole = [&](const Access& access) {
      const std::size_t bytes = element_bytes(access), reach = aligned ? access_bytes : access.alignment;
      const auto width = static_cast<int>(std::min<std::size_t>(reach, access_bytes) / bytes);
      return is_contiguous(kernel, access) && access.alignment >= bytes && width >= vector;
    };
    if (most_bytes_move_whole(kernel, counts, is_whole)) return vector;
  }
  return 1;
}

/// Rows that start anywhere move by whole vectors where those are aligned instead of the rows: but the first and the
/// last one.
void shift_rows(RowWork& work, const Kernel& kernel, const Extents& extents) {
  constexpr std::int64_t longest = 1 << 30;  // positions before the row are negative numbers of 32 bits
  const bool finds = std::any_of(kernel.accesses.begin(), kernel.accesses.end(),
                                 [](const Access& access) { return access.gathers > 0; });
  const std::optional<std::size_t> anchor = shift_anchor(kernel);
  if (kernel.reduced != 1 || kernel.rank < 2 || finds || work.length >= longest || !anchor) return;
  // Sixteen integers at a time, widened for their sums, do not fit into registers twice.
  if (!is_floating(kernel.accesses[*anchor].type)) return;
  const int vector = choose_vector(kernel, extents, true);
  if (vector <= work.vector || work.length < 8 * vector) return;
  // Single elements of four bytes and more fill the accesses of a warp: enough for one pass.
  if (!work.chain && work.vector * size_of(kernel.accesses[*anchor].type) >= 4) return;
  work.vector = vector;
  work.shifted = true;
}

RowWork work_of(const Kernel& kernel, const Extents& extents) {
  const Stages stages = stages_of(kernel);
  RowWork work;
  const RowExtents row = row_extents(kernel, extents);
  work.rows = row.rows;
  work.length = row.length;
  work.chain = stages.passes.size() > 1 || stages.has_element_outputs;
  work.vector = choose_vector(kernel, extents, false);
  shift_rows(work, kernel, extents);
  const std::vector<char> held = held_accesses(kernel);
  std::size_t bytes = 0;
  for (std::size_t a = 0; a < held.size(); ++a) {
    const Access& access = kernel.accesses[a];
    bytes += held[a] || finds_along_rows(kernel, access) ? element_bytes(access) : 0;
  }
  work.bytes = static_cast<std::int64_t>(bytes);
  work.registers = std::max(1, static_cast<int>(bytes) * work.vector / 4);
  return work;
}

/// Vectors per thread come in few numbers, so that few kernels serve all lengths: 1, 2, 3, 4, 6, 8, 12, 16.
int bucket(std::int64_t items) {
  const std::int64_t step = items <= 4 ? 1 : items <= 8 ? 2 : 4;
  return static_cast<int>(std::max<std::int64_t>(1, ceil_divide(items, step) * step));
}

struct Lanes {
  int lanes = 0, items = 1;
};
/// Warps are a power of two, or three or five times one: join_block takes no others.
constexpr int block_sizes[] = {64, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1024};

/// Threads of a block and vectors per thread that hold a row of `vectors`: few idle lanes, about `wanted` vectors each.
/// The largest blocks leave no room for another one on a multiprocessor. A few rows are not worth kernels for as many
/// sizes of blocks.
Lanes block_lanes(const RowWork& work, int most_items, int wanted, const DeviceTraits& device) {
  const std::int64_t vectors = work.vectors();
  const bool few = work.rows < device.multiprocessors;
  Lanes best;
  double best_score = -1e9;
  for (const int lanes : block_sizes) {
    const int items = bucket(ceil_divide(vectors, lanes));
    if (items > most_items || lanes > (work.chain ? 1024 : 512) || (few && power_of_two_up(lanes) != lanes)) continue;
    const double filled = static_cast<double>(vectors) / static_cast<double>(items * lanes);
    const double distance = std::fabs(std::log2(static_cast<double>(items) / static_cast<double>(wanted)));
    const int taken = 1024 / lanes * lanes;  // of the threads of a multiprocessor, by whole blocks
    const double idle = 1 - static_cast<double>(taken) / 1024;
    const double score = filled - 0.1 * distance - (lanes > 512 ? 0.1 : 0) - 0.25 * idle;
    if (score > best_score) best_score = score, best = {lanes, items};
  }
  return best;
}

/// True for bodies whose values need few registers besides those of the loads.
bool is_light(const Kernel& kernel) {
  const auto nodes = kernel.body.nodes();
  return nodes.size() <= 64 &&
         std::none_of(nodes.begin(), nodes.end(), [](const Node& node) { return size_of(node.type) > 4; });
}

/// True where elements of 16 bits each take functions like exp: computing then takes as long as reading.
bool computes_much(const Kernel& kernel, const RowWork& work) {
  const std::vector<char> elements = stages_of(kernel).per_element;
  bool functions = false;
  for (NodeId id = 0; id < kernel.body.size(); ++id) {
    const Node& node = kernel.body[id];
    const bool function = (node.op >= Op::cbrt && node.op <= Op::tgamma) || node.op == Op::pow;
    functions = functions || (node.kind == NodeKind::operation && elements[id] && function);
  }
  return functions && work.chain && work.bytes <= 2 && kernel.rank > kernel.reduced;
}

/// Where blocks are so large that a multiprocessor holds one or two, they take the rows in turn and read the next one
/// while they compute.
void read_ahead(Schedule& schedule, const RowWork& work, const DeviceTraits& device) {
  const int block = schedule.block;
  if (schedule.items * work.registers > held_registers / 2 || block < 512) return;
  const int blocks = std::max(1, std::min(1024, device.threads_per_multiprocessor) / block);
  if (work.rows < std::int64_t{4} * blocks * device.multiprocessors) return;
  schedule.min_blocks = blocks;
  schedule.grid = blocks * device.multiprocessors;
}

/// Lanes of a warp for a short row; several rows at a time where each thread would have little in flight.
void share_warp(Schedule& schedule, const RowWork& work, const DeviceTraits& device) {
  const auto lanes = static_cast<int>(std::min<std::int64_t>(warp_threads, power_of_two_up(work.vectors())));
  hold_by_lanes(schedule, lanes, bucket(ceil_divide(work.vectors(), lanes)));
  schedule.block = 256;
  const int registers = schedule.items * work.registers;
  const std::int64_t groups = schedule.block / schedule.lanes;
  while (schedule.rows < 4 && schedule.rows * 2 * registers <= held_registers / 2 &&
         work.rows >= groups * schedule.rows * 2 * device.multiprocessors * 4)
    schedule.rows *= 2;
}

/// Rows that leave multiprocessors idle or unevenly loaded, and are worth several blocks each. Elements that are
/// computed from their positions or read from the caches cost no less than loads of four bytes.
bool few_and_long(const RowWork& work, const DeviceTraits& device) {
  return work.rows <= 2 * device.multiprocessors && work.length * (work.bytes > 0 ? work.bytes : 4) >= split_bytes;
}

/// Rows that are read again and that the L2 cache keeps until then, if each multiprocessor works on one and not on two.
bool wants_one_in_flight(const RowWork& work, const DeviceTraits& device) {
  const std::int64_t row = work.length * work.bytes, l2 = static_cast<std::int64_t>(device.l2_bytes);
  const auto working = std::min<std::int64_t>(work.rows, device.multiprocessors);
  return work.chain && row > l2 / (2 * device.multiprocessors) && row * working <= l2 / 10 * 9;
}

/// Steps of a block, or of all blocks, over a row that is not held.
void step_over_row(Schedule& schedule, const RowWork& work, const DeviceTraits& device) {
  const std::int64_t vectors = work.vectors();
  schedule.split = !work.chain && few_and_long(work, device);
  const int block = schedule.split ? split_block : vectors >= 4096 ? 1024 : vectors >= 1024 ? 512 : 256;
  const bool two_blocks = block == 1024 && !wants_one_in_flight(work, device);
  int items = std::clamp(held_registers / (two_blocks ? 2 : 1) / work.registers, 1, 16);
  while (items > 1 && vectors < std::int64_t{block} * items) items /= 2;
  while (schedule.split && items > 1 &&
         ceil_divide(vectors, std::int64_t{block} * items) * work.rows < 2 * device.multiprocessors)
    items /= 2;  // many blocks before many loads
  take_by_block(schedule, block, items, false);
}

/// Bytes of the states of all passes in the shared memory of a block, and of the counters of those that arrive.
std::int64_t shared_states(const Kernel& kernel, int warps, int cluster, int turns) {
  std::int64_t bytes = 0;
  for (const auto& pass : stages_of(kernel).passes)
    bytes += static_cast<std::int64_t>(state_bytes(kernel, pass)) * (warps + cluster * turns) + 8 * turns;
  return (bytes + 15) / 16 * 16;
}

/// Copies to shared memory move whole vectors; of shifted rows those that are.
bool copies_whole_vectors(const Kernel& kernel, int vector, bool shifted) {
  const std::vector<char> held = held_accesses(kernel);
  for (std::size_t a = 0; a < held.size(); ++a) {
    const Access& access = kernel.accesses[a];
    const std::size_t bytes = size_of(access.type) * static_cast<std::size_t>(vector);
    const std::size_t aligned = shifted ? size_of(access.type) : bytes;
    if (held[a] && (!is_contiguous(kernel, access) || bytes < 4 || bytes > 16 || access.alignment < aligned))
      return false;
  }
  return true;
}

/// Long rows: up to sixteen blocks hold one together. Two blocks on a multiprocessor where that is enough.
bool share_cluster(Schedule& schedule, const Kernel& kernel, const RowWork& work, const DeviceTraits& device) {
  if (!has_large_clusters(device) || !(schedule.whole_vectors || work.shifted) ||
      !copies_whole_vectors(kernel, work.vector, work.shifted))
    return false;
  const std::int64_t most = cluster_vectors * 4 / work.registers;
  for (const int block : {512, 1024}) {
    if (work.vectors() > most * block * largest_cluster) continue;
    auto cluster =
        static_cast<int>(std::max<std::int64_t>(2, power_of_two_up(ceil_divide(work.vectors(), most * block))));
    while (cluster < largest_cluster && work.rows * cluster <= device.multiprocessors &&
           work.vectors() >= std::int64_t{cluster} * 2 * block)
      cluster *= 2;
    const int clusters = std::max(1, device.multiprocessors / group_multiprocessors);
    const bool in_turn = !work.shifted && cluster == largest_cluster && block == 1024 && work.rows > clusters;
    if (in_turn) schedule.grid = clusters * cluster;
    const int in_registers = std::max(1, (in_turn && work.registers <= 4 ? 12 : 16) / work.registers);
    hold_by_cluster(schedule, block, cluster, work.vectors(), in_registers);
    return true;
  }
  return false;
}

/// Log-sum-exp states: the kernel's own, or what a maximum and a sum relative to it were joined into.
bool joins_exponentials(const Kernel& kernel) {
  const auto nodes = kernel.body.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    return node.kind == NodeKind::reduce && kernel.body.reduction(node).kind == Reduction::logsumexp;
  });
}

}  // namespace

std::optional<std::size_t> shift_anchor(const Kernel& kernel) {
  const std::vector<char> held = held_accesses(kernel);
  std::optional<std::size_t> anchor;
  for (std::size_t a = 0; a < held.size(); ++a) {
    const Access& access = kernel.accesses[a];
    const std::size_t bytes = size_of(access.type);
    if (!held[a] || !is_contiguous(kernel, access) || is_shared_by_rows(kernel, access) || access.alignment < bytes)
      continue;
    if (!anchor || bytes > size_of(kernel.accesses[*anchor].type)) anchor = a;
  }
  return anchor;
}

std::vector<char> held_accesses(const Kernel& kernel) {
  const Stages stages = stages_of(kernel);
  std::vector<char> needed(kernel.body.size(), 0), held(kernel.accesses.size(), 0);
  for (const auto& pass : stages.passes) {
    for (const NodeId reduction : pass) needed[reduction] = 1;
  }
  for (NodeId id = kernel.body.size(); id-- > 0;) {
    const Node& node = kernel.body[id];
    if (needed[id]) {
      for (const NodeId operand : node.inputs()) needed[operand] = 1;
    }
    if (node.kind != NodeKind::load) continue;
    const Access& access = kernel.accesses[node.payload];
    held[node.payload] = moves_along_rows(kernel, access) && (needed[id] || !is_shared_by_rows(kernel, access));
  }
  return held;
}

Schedule choose_rows(const Kernel& kernel, const Extents& extents, const DeviceTraits& device) {
  const RowWork work = work_of(kernel, extents);
  Schedule schedule;
  schedule.form = Template::row_reduction;
  schedule.layers = may_need_layers(kernel, extents);
  schedule.vector = work.vector;
  schedule.shifted = work.shifted;
  schedule.whole_vectors = !work.shifted && extents.loop.back() % work.vector == 0;
  const std::int64_t vectors = work.vectors();
  const int most_items = std::clamp(held_registers / work.registers, 1, work.vector > 1 ? 8 : 16);
  // Two vectors of 16 bytes where they are held between passes, else four, also where joins would add to much
  // computing; narrower ones in proportion.
  const bool much = computes_much(kernel, work);
  const bool two = work.chain && !much;
  const int wanted = std::min(most_items, std::max(two ? 2 : 4, (two ? 8 : 16) / work.registers));
  // Four also suit 16-bit rows of 8 KB and more: smaller blocks wait less at their barriers.
  const int of_block = two && work.bytes <= 2 && vectors >= 512 ? std::min(most_items, 16 / work.registers) : wanted;
  const Lanes block = block_lanes(work, most_items, of_block, device);
  if (vectors <= warp_threads * std::min(most_items, work.chain ? wanted : 2 * wanted)) {
    share_warp(schedule, work, device);
  } else if (work.shifted && work.chain && block.lanes > 512 && share_cluster(schedule, kernel, work, device)) {
    // Two blocks on a multiprocessor: one computes while the other one reads.
  } else if (block.lanes > 0 && (work.chain || !few_and_long(work, device))) {
    take_by_block(schedule, block.lanes, block.items, true);
  } else if (!work.chain || !share_cluster(schedule, kernel, work, device)) {
    step_over_row(schedule, work, device);
  }
  const int held = (schedule.items - schedule.tile) * schedule.rows * work.registers;
  const bool light = is_light(kernel) && held <= (schedule.block == 1024 ? held_registers / 2 : held_registers / 4);
  const bool many = held > held_registers || kernel.body.size() > 400;
  const bool steps = work.shifted && !schedule.resident;  // each vector may be partial, which takes registers
  const int resident_threads = many                                       ? 512
                               : light && !steps && schedule.cluster == 1 ? (schedule.block == 1024 ? 2048 : 1536)
                                                                          : 1024;
  schedule.min_blocks = std::max(1, std::min(resident_threads, device.threads_per_multiprocessor) / schedule.block);
  if (schedule.resident && schedule.lanes == schedule.block && much && !work.shifted)
    read_ahead(schedule, work, device);
  set_whole_rows(schedule, work.length);
  schedule.reason = fmt::format("rows of {} bytes: {} threads per row, {} vectors of {} {}{}", work.length * work.bytes,
                                schedule.lanes, schedule.items, schedule.vector,
                                schedule.cluster > 1 ? fmt::format("held by {} blocks together", schedule.cluster)
                                : schedule.resident  ? "held in registers"
                                                     : "per step",
                                schedule.split ? "; too few rows for the card, so blocks share them" : "");
  if (work.shifted) schedule.reason += "; rows start at any element, so vectors are aligned instead";
  if (schedule.cluster > 1 && schedule.grid > 0) schedule.reason += ", which take rows in turn";
  if (joins_exponentials(kernel)) schedule.reason += "; a maximum and the sum of exponentials found in one pass";
  return schedule;
}

LaunchShape rows_launch_shape(const Kernel& kernel, const Schedule& schedule, const Extents& extents) {
  const auto [rows, length] = row_extents(kernel, extents);
  LaunchShape shape;
  shape.block[0] = static_cast<std::uint32_t>(schedule.block);
  if (schedule.split) {
    const std::int64_t tile = std::int64_t{schedule.lanes} * schedule.items * schedule.vector;
    const std::int64_t wanted = std::max<std::int64_t>(1, 528 / rows);
    const std::int64_t parts = std::clamp<std::int64_t>(ceil_divide(length, tile), 1, wanted);
    shape.grid = {static_cast<std::uint32_t>(parts), static_cast<std::uint32_t>(rows), 1};
    shape.workspace_bytes =
        static_cast<std::uint64_t>(parts * rows) * state_bytes(kernel, stages_of(kernel).passes.front());
    shape.counters = static_cast<std::uint32_t>(rows);
    return shape;
  }
  if (schedule.cluster > 1) {
    const std::int64_t blocks = rows * schedule.cluster;
    set_grid(shape, schedule.grid > 0 ? std::min<std::int64_t>(blocks, schedule.grid) : blocks, schedule.cluster);
    shape.cluster = static_cast<std::uint32_t>(schedule.cluster);
    std::int64_t bytes =
        shared_states(kernel, schedule.block / warp_threads, schedule.cluster, schedule.grid > 0 ? 2 : 1);
    const std::vector<char> held = held_accesses(kernel);
    for (std::size_t a = 0; a < held.size(); ++a)
      bytes += held[a] * std::int64_t{schedule.tile} * schedule.block * schedule.vector *
               static_cast<std::int64_t>(size_of(kernel.accesses[a].type));
    shape.shared_bytes = static_cast<std::uint32_t>(bytes);
    return shape;
  }
  if (schedule.grid > 0) {
    shape.grid[0] = static_cast<std::uint32_t>(std::min<std::int64_t>(rows, schedule.grid));
    return shape;
  }
  set_grid(shape, ceil_divide(rows, std::int64_t{schedule.block / schedule.lanes} * schedule.rows));
  return shape;
}

}  // namespace kiln::codegen
