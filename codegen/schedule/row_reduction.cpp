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
#include "codegen/schedule/row_work.h"
#include "codegen/schedule/state_bytes.h"
#include "support/check.h"

namespace kiln::codegen {
namespace {

constexpr int held_registers = 32;             ///< of a thread, for the loads of the rows that it holds
constexpr std::int64_t split_bytes = 1 << 17;  ///< from here on a row is worth several blocks
constexpr int split_block = 512;
constexpr int largest_cluster = 16;
/// Of the groups of multiprocessors within which a cluster lies; the largest cluster leaves the rest of one idle.
constexpr int group_multiprocessors = 18;
constexpr int file_registers = 1 << 16;  ///< of a multiprocessor
constexpr int wide_registers = 56;       ///< of a thread, for functions of 8-byte elements
constexpr int many_state_bytes = 40;     ///< of a thread: half of the registers that 1024 threads have
constexpr int cluster_vectors = 16;      ///< of 16 bytes per thread of a cluster: 12 in shared memory, 4 in registers

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
  // Packed rows that start anywhere: one vector more than a power of two is common, and should not cost rows in flight.
  const bool packed = work.shifted && work.chain && work.bytes <= 2;
  Lanes best;
  double best_score = -1e9;
  for (const int lanes : block_sizes) {
    const std::int64_t least = ceil_divide(vectors, lanes);
    const int items = packed && least <= 8 ? static_cast<int>(least) : bucket(least);
    if (items > most_items || lanes > (work.chain ? 1024 : 512) || (few && power_of_two_up(lanes) != lanes)) continue;
    const double filled = static_cast<double>(vectors) / static_cast<double>(items * lanes);
    const double distance = std::fabs(std::log2(static_cast<double>(items) / static_cast<double>(wanted)));
    const int taken = 1024 / lanes * lanes;  // of the threads of a multiprocessor, by whole blocks
    const double idle = 1 - static_cast<double>(taken) / 1024;
    const double in_flight = filled * taken * items * work.registers / (16 << 10);  // of 64 KB
    const double score = filled - 0.1 * distance - (lanes > 512 ? 0.1 : 0) - 0.25 * idle -
                         (packed ? 0.25 * std::max(0.0, 1 - in_flight) : 0);
    if (score > best_score) best_score = score, best = {lanes, items};
  }
  return best;
}

/// In steps, partial vectors and elements that are read one by one take registers of chains and of states.
bool steps_by_parts(const Kernel& kernel, const RowWork& work) {
  return (work.shifted || work.vector == 1) && (work.chain || joins_states(kernel));
}

/// Registers of a thread that holds so many vectors.
int thread_registers(const RowWork& work, int held) {
  return (held + wide_registers + (work.shifted ? 8 : 0) + 7) / 8 * 8;
}

/// The same for elements whose functions take many registers: as many vectors per thread as leave room for two blocks.
Lanes wide_block_lanes(const RowWork& work, int most_items) {
  Lanes best;
  for (const int lanes : block_sizes) {
    const int items = bucket(ceil_divide(work.vectors(), lanes));
    if (items > (work.shifted ? 4 : most_items) ||
        2 * lanes * thread_registers(work, items * work.registers) > file_registers)
      continue;
    if (best.lanes == 0 || items * lanes < best.items * best.lanes) best = {lanes, items};
  }
  return best;
}

/// True where elements of 16 bits each take functions like exp: computing then takes as long as reading.
bool computes_much(const Kernel& kernel, const RowWork& work) {
  return has_functions(kernel, 1) && work.chain && work.bytes <= 2 && kernel.rank > kernel.reduced;
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
void step_over_row(Schedule& schedule, const Kernel& kernel, const RowWork& work, const DeviceTraits& device) {
  const std::int64_t vectors = work.vectors();
  schedule.split = !work.chain && few_and_long(work, device);
  const int block = schedule.split ? split_block : vectors >= 4096 ? 1024 : vectors >= 1024 ? 512 : 256;
  const bool two_blocks = block == 1024 && !wants_one_in_flight(work, device);
  const auto passes = stages_of(kernel).passes;
  const bool large = work.chain || work.vector == 1 || std::any_of(passes.begin(), passes.end(), [&](const auto& pass) {
                       return state_bytes(kernel, pass) > 8;
                     });
  // Two blocks leave 32 registers to a thread: in a chain half of them for what is joined.
  const int share =
      (two_blocks ? 2 : 1) * ((large && steps_by_parts(kernel, work)) || (two_blocks && work.chain) ? 2 : 1);
  int items = std::clamp(held_registers / share / work.registers, 1, 16);
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
  for (const int block : {256, 512, 1024}) {
    if (block == 256 && !work.wide) continue;
    if (work.vectors() > most * block * largest_cluster) continue;
    auto cluster =
        static_cast<int>(std::max<std::int64_t>(2, power_of_two_up(ceil_divide(work.vectors(), most * block))));
    while (cluster < largest_cluster && work.rows * cluster <= device.multiprocessors &&
           work.vectors() >= std::int64_t{cluster} * 2 * block)
      cluster *= 2;
    const int clusters = std::max(1, device.multiprocessors / group_multiprocessors);
    const bool in_turn = !work.shifted && cluster == largest_cluster && block == 1024 && work.rows > clusters;
    if (in_turn) schedule.grid = clusters * cluster;
    const bool few = work.shifted || (in_turn && work.registers <= 4);  // what else is in registers takes more
    const int in_registers = std::max(1, (work.wide ? 4 : few ? 12 : 16) / work.registers);
    hold_by_cluster(schedule, block, cluster, work.vectors(), in_registers);
    return true;
  }
  return false;
}

/// f16 takes conversions that bf16 does without.
bool loads_halves(const Kernel& kernel) {
  return std::any_of(kernel.accesses.begin(), kernel.accesses.end(),
                     [](const Access& access) { return !access.store && access.type == DType::f16; });
}

/// Bytes of the states of the busiest pass.
int most_state_bytes(const Kernel& kernel) {
  int most = 0;
  for (const auto& pass : stages_of(kernel).passes) most = std::max(most, static_cast<int>(state_bytes(kernel, pass)));
  return most;
}

/// Threads of a multiprocessor that have enough registers each.
int resident_threads(const Schedule& schedule, const Kernel& kernel, const RowWork& work) {
  const int held = (schedule.items - schedule.tile) * schedule.rows * work.registers;
  if (most_state_bytes(kernel) > many_state_bytes) return 512;
  if (schedule.cluster > 2 && work.shifted && loads_halves(kernel)) return 512;
  if (held > held_registers || kernel.body.size() > 400) return 512;
  if (work.wide) return file_registers / thread_registers(work, held);
  const bool light = is_light(kernel) && held <= (schedule.block == 1024 ? held_registers / 2 : held_registers / 4);
  const bool partial = work.shifted || steps_by_parts(kernel, work);
  if (!light || schedule.cluster > 1 || (partial && !schedule.resident)) return 1024;
  return schedule.block == 1024 ? 2048 : 1536;
}

/// Log-sum-exp states: the kernel's own, or what a maximum and a sum relative to it were joined into.
bool joins_exponentials(const Kernel& kernel) {
  const auto nodes = kernel.body.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    return node.kind == NodeKind::reduce && kernel.body.reduction(node).kind == Reduction::logsumexp;
  });
}

}  // namespace

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
  Lanes block = block_lanes(work, most_items, of_block, device);
  const bool lone =
      work.wide && 2 * block.lanes * thread_registers(work, block.items * work.registers) > file_registers;
  if (const Lanes two_blocks = wide_block_lanes(work, most_items); lone && two_blocks.lanes > 0) block = two_blocks;
  if (vectors <= warp_threads * std::min(most_items, work.chain ? wanted : 2 * wanted)) {
    share_warp(schedule, work, device);
  } else if (work.chain &&
             ((work.shifted && block.lanes > 512) || (lone && wide_block_lanes(work, most_items).lanes == 0)) &&
             share_cluster(schedule, kernel, work, device)) {
    // Two blocks on a multiprocessor: one computes while the other one reads.
  } else if (block.lanes > 0 && (work.chain || !few_and_long(work, device))) {
    take_by_block(schedule, block.lanes, block.items, true);
  } else if (!work.chain || !share_cluster(schedule, kernel, work, device)) {
    step_over_row(schedule, kernel, work, device);
  }
  const int threads = resident_threads(schedule, kernel, work);
  schedule.min_blocks = std::max(1, std::min(threads, device.threads_per_multiprocessor) / schedule.block);
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
