// codegen/schedule/column_reduction.cpp -- how column reductions are mapped to threads.
//
// A thread owns one vector of columns. Threads side by side in a block own neighbouring vectors of the kept axes, taken
// as one long row; the others take the rows between them, a batch of independent loads at a time. Where there are few
// columns, blocks share the rows of a tile and the one that arrives last joins their states.
#include "codegen/schedule/column_reduction.h"

#include <algorithm>

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

constexpr std::uint64_t most_shared_bytes = 44 << 10;  ///< of the 48 KiB that every kernel may declare
constexpr int access_bytes = 16;
constexpr int bytes_in_flight = 128;              ///< per thread: what 1024 threads of a multiprocessor need
constexpr int held_bytes = 256;                   ///< per thread, of columns that stay in registers
constexpr int strip_bytes = 64;                   ///< of one row, the least that a block should read: one memory access
constexpr std::int64_t launch_bytes = 128 << 10;  ///< that one multiprocessor moves while a kernel starts

/// What one call asks of the schedule.
struct Work {
  std::int64_t columns = 1;  ///< extent of the last kept axis
  std::int64_t kept = 1;     ///< product of all kept extents
  std::int64_t rows = 1;     ///< product of the reduced extents
  int vector = 1;
  int bytes = 0;           ///< loaded per element and row
  int scalars = 0;         ///< loads that all columns of a row share, and coordinates
  int registers = 0;       ///< of the states of one column
  bool long_join = false;  ///< joining two states takes more than a few instructions
  bool plain = true;       ///< elements join as they were loaded: a batch holds no states beside them
  bool wide = false;       ///< they join as numbers of 8 bytes
  bool functions = false;  ///< by functions of such, which take many registers
  bool chain = false;      ///< values per element need results of reductions
};

bool is_contiguous(const Kernel& kernel, const Access& access) {
  const auto last = static_cast<std::size_t>(kernel.rank - kernel.reduced - 1);
  for (std::size_t axis = 0; axis < access.axes.size(); ++axis) {
    if ((access.axes[axis] == AxisClass::contiguous) != (axis == last)) return false;
  }
  return true;
}

/// Memory that changes from row to row: operands, and elements found by index, whose iotas stand for them.
bool is_read_per_row(const Kernel& kernel, const Access& access) {
  return access.gathers > 0 || (!access.iota && is_per_element(kernel, access));
}

bool moves_along_columns(const Kernel& kernel, const Access& access) {
  return access.axes[static_cast<std::size_t>(kernel.rank - kernel.reduced - 1)] != AxisClass::broadcast;
}

/// 32-bit registers of the states of one column, over all reductions of the busiest pass.
int state_registers(const Kernel& kernel, const Stages& stages) {
  std::size_t most = 1;
  for (const auto& pass : stages.passes) {
    std::size_t registers = 0;
    for (const NodeId id : pass) {
      const Monoid monoid = monoid_of(kernel.body, id);
      for (const StateComponent& component : monoid.components)
        registers += std::max<std::size_t>(size_of(component.type), 4) / 4;
      if (monoid.kind == Reduction::sum && kernel.body[id].type == DType::f32) ++registers;  // the compensation
    }
    most = std::max(most, registers);
  }
  return static_cast<int>(most);
}

/// Sums and squared deviations of f32, of which the latter take the mean of a batch first.
bool joins_values(const Monoid& monoid) {
  return monoid.components[0].type == DType::f32 &&
         (monoid.kind == Reduction::sum || monoid.kind == Reduction::squared_deviations);
}

/// The widest vector that divides the columns and by which most bytes of a row move whole.
int choose_vector(const Kernel& kernel, const Work& work) {
  const auto moves = [&](const Access& access) {
    return is_read_per_row(kernel, access) && moves_along_columns(kernel, access);
  };
  const int widest = static_cast<int>(widest_element(kernel, moves));
  for (int vector = std::max(1, access_bytes / widest); vector > 1; vector /= 2) {
    if (work.columns % vector != 0) continue;
    const bool narrow = vector * widest <= 4 && !(work.wide && work.long_join);
    if (vector > 2 && work.functions) continue;
    if (vector * work.registers > (work.plain ? 20 : 16) && !narrow) continue;
    const auto is_whole = [&](const Access& access) {
      return is_contiguous(kernel, access) && access.alignment >= vector * static_cast<int>(element_bytes(access));
    };
    if (most_bytes_move_whole(kernel, moves, is_whole)) return vector;
  }
  return 1;
}

Work work_of(const Kernel& kernel, const Stages& stages, const Extents& extents) {
  Work work;
  const int kept_axes = kernel.rank - kernel.reduced;
  for (int axis = 0; axis < kernel.rank; ++axis)
    (axis < kept_axes ? work.kept : work.rows) *= extents.loop[static_cast<std::size_t>(axis)];
  work.columns = extents.loop[static_cast<std::size_t>(kept_axes - 1)];
  work.registers = state_registers(kernel, stages);
  for (const auto& pass : stages.passes) {
    for (const NodeId id : pass) {
      const Monoid monoid = monoid_of(kernel.body, id);
      work.long_join |= monoid.combine.size() > 8;
      work.plain &= joins_values(monoid);
      work.wide |= is_floating(monoid.components[0].type) && size_of(monoid.components[0].type) == 8;
      work.functions |= work.wide && monoid.kind == Reduction::logsumexp;
    }
  }
  work.vector = choose_vector(kernel, work);
  for (const Access& access : kernel.accesses) {
    if (access.store || (access.gathers == 0 && !is_per_element(kernel, access))) continue;
    if (!is_read_per_row(kernel, access) || !moves_along_columns(kernel, access))
      ++work.scalars;
    else
      work.bytes += static_cast<int>(element_bytes(access));
  }
  work.bytes = std::max(work.bytes, 1);
  work.chain = stages.passes.size() > 1 || stages.has_element_outputs;
  return work;
}

/// Rows of one batch: enough bytes in flight, not so many elements that the body becomes long.
int choose_items(const Kernel& kernel, const Work& work, int most_bytes) {
  auto items =
      static_cast<int>(std::clamp<std::int64_t>(power_of_two_down(most_bytes / (work.vector * work.bytes)), 1, 16));
  while (items > 4 && !work.plain && items * work.registers > 32) items /= 2;                    // states of a batch
  while (items > 4 && work.wide && items * work.vector > (work.functions ? 8 : 32)) items /= 2;  // two registers each
  while (items > 4 && work.registers > 32) items /= 2;
  const auto nodes = static_cast<std::int64_t>(kernel.body.size());
  while (items > 1 && nodes * items * work.vector > 2048) items /= 2;
  while (items > 1 && items / 2 >= work.rows) items /= 2;
  return items;
}

/// Columns that stay in registers between the passes: 64 bytes of each row at least, and as few threads along the rows
/// as hold them. False where they do not fit.
bool hold(const Kernel& kernel, const Work& work, Schedule& schedule) {
  const int most = choose_items(kernel, work, held_bytes), usual = std::max(1, most / 2);
  const int narrowest = std::max(1, strip_bytes / (work.vector * std::max(1, work.bytes)));  // vectors side by side
  const std::int64_t vectors = work.kept / work.vector;
  for (const int items : {usual, most}) {
    for (const int block : {256, 512}) {
      const std::int64_t along = power_of_two_up(ceil_divide(work.rows, items));
      if (along > block) continue;
      const std::int64_t across = std::min<std::int64_t>(block / along, vectors);
      if (across < std::min<std::int64_t>(narrowest, vectors)) continue;
      schedule.items = items;
      schedule.block = block;
      schedule.columns = static_cast<int>(across);
      schedule.resident = true;
      return true;
    }
  }
  return false;
}

/// Vectors side by side and blocks per tile: wide tiles while they keep every multiprocessor busy, then more threads
/// along the rows, then several blocks for one tile.
void spread(const Work& work, const DeviceTraits& device, Schedule& schedule) {
  const std::int64_t vectors = work.kept / work.vector;
  const std::int64_t wanted = std::int64_t{2} * device.multiprocessors;  // blocks
  const std::int64_t batches = std::max<std::int64_t>(1, ceil_divide(work.rows, schedule.items));
  // Threads along the rows: eight where the columns are long, more where there are too few columns to fill the card.
  std::int64_t along = batches >= 16 ? 8 : 1;
  while (along < 32 && along * 2 <= batches && vectors * along * 10 < wanted * schedule.block * 9) along *= 2;
  std::int64_t across = std::min<std::int64_t>(vectors, schedule.block / along);
  schedule.columns = static_cast<int>(across);
  if (work.chain) return;
  const std::int64_t tiles = ceil_divide(vectors, across);
  const std::int64_t steps = ceil_divide(batches, schedule.block / across);  // batches of one thread
  if (tiles * 10 >= wanted * 7 || steps <= 4) return;
  const std::int64_t parts = std::min(ceil_divide(wanted - tiles / 2, tiles), steps / 2);
  schedule.parts = static_cast<int>(std::clamp<std::int64_t>(parts, 1, 1024));
  schedule.split = schedule.parts > 1;
}

/// Each block of a chain works on whole columns, `columns` of them: there must be many blocks, or so little work that
/// what the idle multiprocessors lose is less than the launches and the second reading of kernels of their own. One
/// multiprocessor alone moves twice its share of what all of them do. `reads`: of the columns, by a chain.
bool fills_the_card(const ChainFacts& facts, std::int64_t columns, int reads, const DeviceTraits& device) {
  const std::int64_t blocks = ceil_divide(facts.rows, columns),
                     shares = std::min<std::int64_t>(2 * blocks, device.multiprocessors);
  const double bytes =
      static_cast<double>(facts.rows) * static_cast<double>(facts.length) * static_cast<double>(facts.bytes);
  const double idle =
      static_cast<double>(device.multiprocessors) / static_cast<double>(std::max<std::int64_t>(shares, 1));
  const double chain = (reads + 1) * bytes * idle;
  return blocks >= device.multiprocessors ||
         chain <= 3 * bytes + static_cast<double>(launch_bytes) * device.multiprocessors;
}

std::string reason_of(const Work& work, const Schedule& schedule) {
  std::string text = fmt::format("operands run along the kept axes: {} columns per thread, {} rows in flight",
                                 work.vector, schedule.items);
  if (schedule.resident) text += "; the columns of a block stay in registers between the passes";
  if (work.chain && !schedule.resident) text += "; every pass reads the columns again, the last one backwards";
  if (schedule.parts > 1) text += "; few columns: blocks share them and the last one to arrive joins their states";
  return text;
}

}  // namespace

std::uint64_t columns_shared_bytes(const Kernel& kernel, const Schedule& schedule) {
  const Stages stages = stages_of(kernel);
  std::uint64_t bytes = 0;
  for (std::size_t pass = 0; pass < stages.passes.size(); ++pass) {
    const auto states = static_cast<std::uint64_t>(schedule.vector) * static_cast<std::uint64_t>(schedule.block);
    bytes += states * state_bytes(kernel, stages.passes[pass]) /
             (schedule.split || stages.passes.size() > 1 || stages.has_element_outputs ? 1 : 2);
  }
  return bytes;
}

bool runs_along_columns(const Kernel& kernel, const Extents& extents) {
  const int kept = kernel.rank - kernel.reduced;
  if (kept == 0) return false;
  // What all columns share decides where nothing else does.
  for (const bool shared : {false, true}) {
    std::size_t along_columns = 0, along_rows = 0;
    for (const Access& access : kernel.accesses) {
      if (!is_read_per_row(kernel, access)) continue;
      if ((access.gathers == 0 && is_shared_by_rows(kernel, access)) != shared) continue;
      // Elements found by index come from many places: across their neighbours each would be a cache line of its own.
      const std::size_t bytes = element_bytes(access) * (access.gathers > 0 ? 8 : 1);
      if (access.axes[static_cast<std::size_t>(kept - 1)] == AxisClass::contiguous) along_columns += bytes;
      if (access.axes.back() == AxisClass::contiguous) along_rows += bytes;
    }
    if (along_columns != along_rows) return along_columns > along_rows;
  }
  // Nothing is contiguous: a thread per column wants many columns.
  return extents.loop[static_cast<std::size_t>(kept - 1)] >= 32;
}

namespace {

Schedule with_vectors(const Kernel& kernel, const Work& work, const DeviceTraits& device) {
  Schedule schedule;
  schedule.form = Template::column_reduction;
  schedule.block = 256;
  schedule.vector = work.vector;
  schedule.whole_vectors = true;
  if (!work.chain || !hold(kernel, work, schedule)) {
    schedule.items = choose_items(kernel, work, bytes_in_flight);
    spread(work, device, schedule);
  }
  // Registers: the batch, the states of the columns (twice while they are joined), addresses.
  // Numbers as they are joined: what is converted first, or waits for a long join, is held in that type.
  const int held = std::max(work.bytes, work.wide && work.bytes < 4 ? 8 : work.long_join ? 4 : 2);
  const auto batch = [&](int bytes) { return schedule.items * (std::max(1, work.vector * bytes / 4) + work.scalars); };
  const int loads = batch(held);
  const int states = work.vector * work.registers * (work.long_join ? 2 : 1);
  const int registers = loads + states + (kernel.reduced > 1 ? 8 : 0);
  const bool many = work.long_join && (work.wide || work.vector * work.registers >= 16 || registers >= 44);
  // Short floats are unpacked beside what was loaded; of many accumulators some wait for others.
  const bool some = work.vector * work.registers > 16 || ((work.bytes <= 2 || work.long_join) && loads + states >= 40);
  const int threads = registers > 44 || many ? 512 : some ? 768 : 1024;
  schedule.min_blocks = std::max(1, threads / schedule.block);
  // What was loaded waits unconverted: a few bytes spilled cost less than half of the threads.
  if (batch(std::max(work.bytes, 2)) + states > 96 || kernel.body.size() > 400) schedule.min_blocks = 0;
  schedule.reason = reason_of(work, schedule);
  return schedule;
}

}  // namespace

Schedule choose_columns(const Kernel& kernel, const Extents& extents, const DeviceTraits& device) {
  KILN_INTERNAL_CHECK(kernel.rank > kernel.reduced, "no kept axis among {}", kernel.rank);
  const Stages stages = stages_of(kernel);
  Work work = work_of(kernel, stages, extents);
  Schedule schedule = with_vectors(kernel, work, device);
  while (work.vector > 1 && columns_shared_bytes(kernel, schedule) > most_shared_bytes) {
    work.vector /= 2;
    schedule = with_vectors(kernel, work, device);
  }
  schedule.layers = may_need_layers(kernel, extents);
  return schedule;
}

LaunchShape columns_launch_shape(const Kernel& kernel, const Schedule& schedule, const Extents& extents) {
  const Stages stages = stages_of(kernel);
  std::int64_t kept = 1;
  for (int axis = 0; axis < kernel.rank - kernel.reduced; ++axis) kept *= extents.loop[static_cast<std::size_t>(axis)];
  const std::int64_t vectors = ceil_divide(kept, schedule.vector);
  const std::int64_t tiles = ceil_divide(vectors, schedule.columns);
  LaunchShape shape;
  shape.block = {static_cast<std::uint32_t>(schedule.columns),
                 static_cast<std::uint32_t>(std::max(1, schedule.block / schedule.columns)), 1};
  set_grid(shape, tiles);
  if (schedule.parts > 1) {  // of few tiles
    shape.grid[1] = static_cast<std::uint32_t>(schedule.parts);
    shape.counters = static_cast<std::uint32_t>(tiles);
    shape.workspace_bytes = static_cast<std::uint64_t>(kept) * static_cast<std::uint64_t>(schedule.parts) *
                            state_bytes(kernel, stages.passes[0]);
  }
  return shape;
}

bool holds_columns(const ChainFacts& facts, const DeviceTraits& device) {
  const std::int64_t strip = std::max<std::int64_t>(16, strip_bytes / std::max<std::int64_t>(facts.bytes, 1));
  return facts.length * strip * facts.bytes <= std::int64_t{512} * held_bytes &&
         fills_the_card(facts, strip, 1, device);
}

bool columns_chain_fits(const ChainFacts& facts, const DeviceTraits& device) {
  return holds_columns(facts, device) || fills_the_card(facts, 32, 2, device);
}

}  // namespace kiln::codegen
