// codegen/schedule/launch_wish.cpp -- what each form of schedule makes of other blocks and elements per thread.
#include "codegen/schedule/launch_wish.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "codegen/schedule/arithmetic.h"
#include "codegen/schedule/column_reduction.h"
#include "codegen/schedule/row_mapping.h"
#include "codegen/schedule/transpose.h"

namespace kiln::codegen {
namespace {

constexpr int most_threads = 1024;
constexpr int most_items = 64;         ///< elements per thread: more only make long kernels
constexpr int most_held_vectors = 16;  ///< of a row, in the registers of one thread
constexpr int usual_step = 4;          ///< vectors of a thread that walks along a row
constexpr std::uint64_t static_shared = 48 << 10;
constexpr std::uint64_t opted_shared = 227 << 10;  ///< of a block of a cluster

/// Blocks per multiprocessor that promise the same registers per thread as before.
int scaled_min_blocks(const Schedule& schedule, int block) {
  return std::max(schedule.min_blocks > 0 ? 1 : 0, schedule.min_blocks * schedule.block / block);
}

/// Elements per thread that are not whole vectors.
std::string not_whole(int items, int vector) {
  return fmt::format("{} elements per thread are not a multiple of {}, which one access moves; ask for {} or {}", items,
                     vector, std::max(1, items / vector) * vector, (items / vector + 1) * vector);
}

// ------------------------------------------------------------------ elementwise
/// Vectors narrow until they divide the elements of a thread.
void set_items(const Extents& extents, int items, Schedule& schedule) {
  schedule.vector = std::gcd(schedule.vector, items);
  schedule.items = items / schedule.vector;
  schedule.whole_vectors = extents.loop.back() % schedule.vector == 0;
}

std::string wish_elementwise(const Extents& extents, const LaunchWish& wish, Schedule& schedule) {
  if (const auto threads = static_cast<int>(wish.threads()); threads > 0 && threads != schedule.block) {
    schedule.min_blocks = schedule.min_blocks * schedule.block / threads;
    schedule.block = threads;
  }
  if (wish.block[1] > 1 || wish.block[2] > 1) {
    if (schedule.form == Template::flat || wish.block[2] > 1)
      return fmt::format("a block of {}x{}x{}: this kernel runs over {}", wish.block[0], std::max(1, wish.block[1]),
                         std::max(1, wish.block[2]), schedule.form == Template::flat ? "one axis" : "two axes");
    schedule.columns = wish.block[0];
  }
  if (wish.items > 0) {
    set_items(extents, wish.items, schedule);
    schedule.min_blocks = 0;
  }
  return "";
}

std::string wish_dense(const LaunchWish& wish, Schedule& schedule) {
  if (wish.items > 0 && wish.items != schedule.vector)
    return fmt::format("a thread of this kernel takes {} elements, one access of results that cross a short axis",
                       schedule.vector);
  if (const auto threads = static_cast<int>(wish.threads()); threads > 0) {
    schedule.min_blocks = schedule.min_blocks * schedule.block / threads;
    schedule.block = threads;
  }
  return "";
}

/// A block of threads side by side and in rows; a thread takes whole vectors of several rows.
std::string wish_window(const Kernel& kernel, const Extents& extents, const LaunchWish& wish, Schedule& schedule) {
  constexpr int most_rows = 16;
  if (const auto threads = static_cast<int>(wish.threads()); threads > 0) {
    if (wish.block[2] > 1 || (wish.block[1] > 1 && kernel.rank == 1))
      return fmt::format("a block of {}x{}x{}: this kernel runs over {}", wish.block[0], std::max(1, wish.block[1]),
                         std::max(1, wish.block[2]), kernel.rank == 1 ? "one axis" : "two axes");
    schedule.min_blocks = scaled_min_blocks(schedule, threads);
    schedule.columns = wish.block[1] > 1  ? wish.block[0]
                       : kernel.rank == 1 ? threads
                                          : std::min(schedule.columns, threads);
    schedule.block = threads;
    if (threads % schedule.columns != 0)
      return fmt::format("{} threads are not a multiple of {} side by side; ask for a block of two numbers", threads,
                         schedule.columns);
  }
  if (wish.items == 0) return "";
  schedule.vector = std::gcd(schedule.vector, wish.items);
  schedule.items = wish.items / schedule.vector;
  schedule.lead %= schedule.vector;
  schedule.whole_vectors = schedule.lead == 0 && extents.loop.back() % schedule.vector == 0;
  if (schedule.items <= (kernel.rank == 1 ? 1 : most_rows)) return "";
  return fmt::format("a thread of this kernel takes at most {} elements",
                     schedule.vector * (kernel.rank == 1 ? 1 : most_rows));
}

/// A tile of `tile` x `tile` elements, which the threads of a block read along either side in whole vectors.
std::string wish_transpose(const Kernel& kernel, const LaunchWish& wish, Schedule& schedule) {
  const auto threads = static_cast<int>(wish.threads());
  for (const int tile : {schedule.tile, 96 - schedule.tile}) {  // 32 and 64
    const int block = threads > 0 ? threads : wish.items > 0 ? tile * tile / wish.items : schedule.block;
    const int items = block > 0 ? tile * tile / block : 0;
    const bool fits = block >= tile && block <= most_threads && block * items == tile * tile &&
                      power_of_two_up(block) == block && !turned_accesses(kernel, tile).empty();
    if (!fits || (wish.items > 0 && items != wish.items)) continue;
    schedule.min_blocks = schedule.min_blocks * schedule.block / block;
    schedule.tile = tile;
    schedule.block = block;
    schedule.vector = std::min(schedule.vector, items);
    return "";
  }
  return "a transposed tile has 32 x 32 or 64 x 64 elements: ask for blocks of 64, 128, 256, 512 or 1024 threads, and "
         "for items of 1024 or 4096 elements by the threads";
}

// ------------------------------------------------------------------ rows
/// A row by lanes of one warp, where so many vectors per lane are enough.
bool by_lanes(std::int64_t vectors, int vectors_per_lane, Schedule& schedule) {
  const std::int64_t lanes = ceil_divide(vectors, vectors_per_lane);
  if (lanes > warp_threads || vectors_per_lane > most_held_vectors) return false;
  hold_by_lanes(schedule, static_cast<int>(power_of_two_up(lanes)), vectors_per_lane);
  return true;
}

/// A row by a whole block: held where the registers of its threads hold it, else walked along.
void by_block(std::int64_t vectors, int block, int asked_vectors, Schedule& schedule) {
  const bool walks = schedule.split || (!schedule.resident && asked_vectors == 0);
  const std::int64_t needed = ceil_divide(vectors, block);
  const std::int64_t held = asked_vectors > 0 ? asked_vectors : needed;
  const bool resident = !walks && held >= needed && held <= most_held_vectors;
  const std::int64_t items = asked_vectors > 0 ? asked_vectors : resident ? held : walks ? schedule.items : usual_step;
  take_by_block(schedule, block, static_cast<int>(items), resident);
  schedule.grid = 0;
}

std::string by_cluster(const Kernel& kernel, const Extents& extents, std::int64_t vectors, int block, int asked_vectors,
                       Schedule& schedule) {
  const std::int64_t needed = ceil_divide(vectors, std::int64_t{block} * schedule.cluster);
  if (asked_vectors > 0 && asked_vectors < needed)
    return fmt::format("{} blocks of {} threads hold a row together with {} elements per thread", schedule.cluster,
                       block, needed * schedule.vector);
  hold_by_cluster(schedule, block, schedule.cluster, vectors, schedule.items - schedule.tile, asked_vectors);
  const std::uint64_t bytes = launch_shape(kernel, schedule, extents).shared_bytes;
  if (bytes <= opted_shared) return "";
  return fmt::format("a row in {} blocks of {} threads takes {} bytes of shared memory from each, more than there are",
                     schedule.cluster, block, bytes);
}

std::string wish_rows(const Kernel& kernel, const Extents& extents, const LaunchWish& wish, Schedule& schedule) {
  if (wish.items % schedule.vector != 0) return not_whole(wish.items, schedule.vector);
  const std::int64_t length = row_extents(kernel, extents).length, vectors = row_vectors(schedule, length);
  const int asked = wish.items / schedule.vector;
  const int block = wish.threads() > 0 ? static_cast<int>(wish.threads()) : schedule.block;
  const int before = schedule.block;
  if (block <= warp_threads) schedule.split = false;  // blocks that share a row join warps first
  schedule.min_blocks = asked > 0 ? 0 : scaled_min_blocks(schedule, block);
  if (schedule.cluster > 1) {
    const std::string problem = by_cluster(kernel, extents, vectors, block, asked, schedule);
    if (!problem.empty()) return problem;
  } else if (schedule.lanes <= warp_threads) {
    if (asked > 0 && !by_lanes(vectors, asked, schedule)) by_block(vectors, block, asked, schedule);
  } else if (block != before || asked > 0) {
    if (block > warp_threads ||
        !by_lanes(vectors, asked > 0 ? asked : static_cast<int>(ceil_divide(vectors, warp_threads)), schedule))
      by_block(vectors, block, asked, schedule);
  }
  schedule.block = block;
  set_whole_rows(schedule, length);
  return "";
}

// ------------------------------------------------------------------ columns
std::string wish_columns(const Kernel& kernel, const Extents& extents, const LaunchWish& wish, Schedule& schedule) {
  if (wish.items % schedule.vector != 0) return not_whole(wish.items, schedule.vector);
  const auto [kept, reduced] = row_extents(kernel, extents);
  const int block = wish.threads() > 0 ? static_cast<int>(wish.threads()) : schedule.block;
  const std::int64_t vectors = kept / schedule.vector;
  std::int64_t along = std::max(1, schedule.block / schedule.columns);
  schedule.min_blocks = wish.items > 0 ? 0 : scaled_min_blocks(schedule, block);
  if (wish.items > 0) schedule.items = wish.items / schedule.vector;
  schedule.block = block;
  if (schedule.resident) {
    const std::int64_t needed = power_of_two_up(ceil_divide(reduced, schedule.items));
    schedule.resident = needed <= block;
    along = schedule.resident ? needed : along;
  }
  schedule.columns =
      static_cast<int>(std::max<std::int64_t>(1, std::min(vectors, block / std::min<std::int64_t>(along, block))));
  if (const std::uint64_t bytes = columns_shared_bytes(kernel, schedule); bytes > static_shared)
    return fmt::format(
        "{} threads with {} columns each join their states through {} bytes of shared memory; a kernel "
        "declares at most {}",
        block, schedule.vector, bytes, static_shared);
  return "";
}

// ------------------------------------------------------------------ scans
std::string wish_scan(const Kernel& kernel, const Extents& extents, const LaunchWish& wish, Schedule& schedule) {
  if (wish.items % schedule.vector != 0) return not_whole(wish.items, schedule.vector);
  const int block = wish.threads() > 0 ? static_cast<int>(wish.threads()) : schedule.block;
  const int asked = wish.items / schedule.vector;
  schedule.min_blocks = asked > 0 ? 0 : scaled_min_blocks(schedule, block);
  const std::int64_t length = row_extents(kernel, extents).length, vectors = ceil_divide(length, schedule.vector);
  if (schedule.lanes == 0) {
    constexpr int most_looking_back = 32;  // threads side by side whose pieces look back
    const int across = std::max(1, schedule.columns * block / schedule.block);
    schedule.columns = schedule.split ? std::min(across, most_looking_back) : across;
    schedule.rows = block / schedule.columns;
  } else if (schedule.lanes > warp_threads) {
    schedule.lanes = block;  // of one warp too: lanes > 32 means a block
    if (block <= warp_threads) return "a block that scans a long row has 64 threads or more";
  } else if (asked > 0) {
    const std::int64_t lanes = ceil_divide(vectors, asked);
    if (lanes > warp_threads)
      return fmt::format("the lanes of one warp share a row of {} elements; ask for items of {} or more", length,
                         ceil_divide(vectors, warp_threads) * schedule.vector);
    schedule.lanes = static_cast<int>(power_of_two_up(lanes));
  }
  if (asked > 0) schedule.items = asked;
  schedule.block = block;
  return "";
}

std::string check(const LaunchWish& wish, bool elementwise) {
  const std::int64_t threads = wish.threads();
  if (threads > most_threads)
    return fmt::format("a block of {} threads is more than the 1024 that CUDA allows", threads);
  if (wish.items > most_items) return fmt::format("{} elements per thread are more than {}", wish.items, most_items);
  if (threads == 0 || elementwise) return "";
  if (wish.block[1] > 1 || wish.block[2] > 1)
    return fmt::format(
        "a block of {}x{}x{}: how the threads of a reduction stand follows from its schedule; ask for "
        "their number",
        wish.block[0], wish.block[1], wish.block[2]);
  if (threads < warp_threads || power_of_two_up(threads) != threads)
    return fmt::format("a block of {} threads: reductions and scans take 32, 64, 128, 256, 512 or 1024", threads);
  return "";
}

}  // namespace

std::string apply_wish(const Kernel& kernel, const Extents& extents, const LaunchWish& wish, Schedule& schedule) {
  if (wish.threads() == 0 && wish.items == 0) return "";
  std::string problem = check(wish, kernel.reduced == 0);
  if (!problem.empty() || kernel.rank == 0) return problem;  // a single element takes one thread
  switch (schedule.form) {
    case Template::flat:
    case Template::rows:
    case Template::general:
      problem = wish_elementwise(extents, wish, schedule);
      break;
    case Template::dense:
      problem = wish_dense(wish, schedule);
      break;
    case Template::window:
      problem = wish_window(kernel, extents, wish, schedule);
      break;
    case Template::transpose:
      problem = wish_transpose(kernel, wish, schedule);
      break;
    case Template::row_reduction:
      problem = wish_rows(kernel, extents, wish, schedule);
      break;
    case Template::column_reduction:
      problem = wish_columns(kernel, extents, wish, schedule);
      break;
    case Template::scan:
      problem = wish_scan(kernel, extents, wish, schedule);
      break;
    default:
      problem = "the schedule of this kernel fixes its blocks";
  }
  if (problem.empty() && wish.threads() > 0) schedule.reason += "; block size set by the caller";
  if (problem.empty() && wish.items > 0) schedule.reason += "; elements per thread set by the caller";
  return problem;
}

std::string apply_grid(const LaunchWish& wish, Schedule& schedule, LaunchShape& shape) {
  if (wish.grid == 0) return "";
  const std::uint64_t needed = std::uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2];
  if (wish.grid >= needed) return "";  // blocks with nothing to do are not started
  if (schedule.form == Template::flat) schedule.grid = 1;
  if (schedule.grid == 0)
    return fmt::format(
        "a grid of {} blocks does not cover the result, which needs {}; leave Launch::grid out here: "
        "only kernels over one contiguous run let fewer blocks take their work in turn",
        wish.grid, needed);
  shape.grid[0] = static_cast<std::uint32_t>(wish.grid);
  schedule.reason += "; the caller's number of blocks take their work in turn";
  return "";
}

}  // namespace kiln::codegen
