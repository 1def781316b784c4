// codegen/schedule/candidates.cpp -- which fields of each form of schedule may vary, and how far.
#include "codegen/schedule/candidates.h"

#include <algorithm>

#include <fmt/format.h>

#include "codegen/schedule/arithmetic.h"
#include "codegen/schedule/column_reduction.h"
#include "codegen/schedule/launch_wish.h"

namespace kiln::codegen {
namespace {

constexpr int warp = 32;
constexpr int most_threads = 1024;
constexpr std::uint64_t static_shared = 48 << 10;
constexpr int longest_body = 2048;  ///< operations of one thread, as in the heuristic

class Candidates {
 public:
  Candidates(const Kernel& kernel, const Extents& extents, const Schedule& base, const DeviceTraits& device,
             std::size_t most)
      : kernel_(kernel), extents_(extents), base_(base), device_(device), most_(most) {
    list_.push_back({base, candidate_name(base), true});
  }

  /// One change at a time; where there is room for more, changes of what is changed already.
  void vary(bool any_order) {
    change();
    if (any_order && base_.form >= Template::row_reduction) other_orders();
    for (std::size_t parent = 1; parent < list_.size() && list_.size() < most_; ++parent) {
      base_ = list_[parent].schedule;
      same_bits_ = list_[parent].same_bits;
      change();
    }
  }

  std::vector<Candidate> take() { return std::move(list_); }

 private:
  void change() {
    switch (base_.form) {
      case Template::flat:
        flat();
        break;
      case Template::rows:
      case Template::general:
        rows_of_threads();
        break;
      case Template::dense:
        blocks({128, 512, 1024, 64});
        registers();
        break;
      case Template::window:
        window();
        break;
      case Template::transpose:
        transpose();
        break;
      case Template::row_reduction:
        row_reduction();
        break;
      case Template::column_reduction:
        column_reduction();
        break;
      case Template::scan:
        scan();
        break;
      default:
        break;
    }
  }

  /// Keeps what the device can launch and what is new.
  void add(Schedule schedule) {
    if (list_.size() >= most_) return;
    if (schedule.block > most_threads || schedule.block < warp || schedule.block % warp != 0) return;
    const bool by_columns =
        schedule.form == Template::rows || schedule.form == Template::general || schedule.form == Template::window;
    if (by_columns && schedule.columns > 1 && schedule.block % schedule.columns != 0) return;
    if (schedule.min_blocks * schedule.block > device_.threads_per_multiprocessor) return;
    std::string name = candidate_name(schedule);
    if (std::any_of(list_.begin(), list_.end(), [&](const Candidate& c) { return c.name == name; })) return;
    schedule.reason = base_.reason;
    list_.push_back({std::move(schedule), std::move(name), same_bits_});
  }

  Schedule with_block(int block) const {
    Schedule schedule = base_;
    schedule.min_blocks = std::max(base_.min_blocks > 0 ? 1 : 0, base_.min_blocks * base_.block / block);
    schedule.block = block;
    return schedule;
  }

  void blocks(std::initializer_list<int> sizes) {
    for (const int block : sizes) add(with_block(block));
  }

  /// Other promises: half the registers per thread, twice as many, no bound.
  void registers() {
    const auto promise = [this](int blocks) {
      Schedule schedule = base_;
      schedule.min_blocks = blocks;
      add(std::move(schedule));
    };
    if (base_.min_blocks == 0) return promise(std::max(1, 1024 / base_.block));
    promise(base_.min_blocks * 2);
    if (base_.min_blocks > 1) promise(base_.min_blocks / 2);
    promise(0);
  }

  bool is_short_enough(const Schedule& schedule) const {
    return static_cast<int>(kernel_.body.size()) * schedule.vector * schedule.items <= longest_body;
  }

  /// More vectors of one thread, in flight together; fewer where there are several.
  void elements(std::initializer_list<int> factors) {
    for (const int factor : factors) {
      Schedule schedule = base_;
      schedule.items *= factor;
      schedule.min_blocks = std::min(schedule.min_blocks, std::max(1, 512 / schedule.block));
      if (schedule.items <= 8 && is_short_enough(schedule)) add(schedule);
    }
    if (base_.items == 1) return;
    Schedule schedule = base_;
    schedule.items /= 2;
    add(schedule);
  }

  void narrower() {
    if (base_.vector == 1) return;
    Schedule schedule = base_;
    schedule.vector /= 2;
    schedule.whole_vectors = extents_.loop.back() % schedule.vector == 0;
    add(schedule);
  }

  void flat() {
    blocks({128, 512});
    elements({2, 4});
    registers();
    take_turns();
    blocks({1024});
    narrower();
    Schedule schedule = with_block(128);
    schedule.items *= 2;
    if (is_short_enough(schedule)) add(schedule);
  }

  /// As many blocks as the card holds at a time.
  void take_turns() {
    Schedule schedule = base_;
    const int resident = std::max(1, base_.min_blocks > 0 ? base_.min_blocks : 1024 / base_.block);
    schedule.grid = resident * device_.multiprocessors;
    const std::int64_t tile = std::int64_t{base_.block} * base_.vector * base_.items;
    if (ceil_divide(extents_.loop.back(), tile) >= 4 * std::int64_t{schedule.grid}) add(schedule);
  }

  void rows_of_threads() {
    blocks({128, 512});
    for (const int columns : {32, 64, 128, 256}) {
      Schedule schedule = base_;
      schedule.columns = columns;
      if (columns <= schedule.block && extents_.loop.back() >= columns) add(schedule);
    }
    elements({2});
    registers();
    narrower();
  }

  void window() {
    for (const int block : {128, 512}) {
      Schedule schedule = with_block(block);
      if (kernel_.rank == 1) schedule.columns = block;
      if (block % schedule.columns == 0) add(schedule);
    }
    for (const int factor : {2, -2}) {
      Schedule schedule = base_;
      schedule.items = factor > 0 ? schedule.items * factor : schedule.items / -factor;
      if (factor > 0) schedule.min_blocks = std::min(schedule.min_blocks, 2);
      if (kernel_.rank > 1 && schedule.items >= 1 && schedule.items <= 16) add(schedule);
    }
    registers();
    for (const int columns : {16, 64, 128}) {
      Schedule schedule = base_;
      schedule.columns = columns;
      if (kernel_.rank > 1 && schedule.block % columns == 0) add(schedule);
    }
  }

  void transpose() {
    for (const int block : {128, 512, 1024}) wish({.block = {block, 0, 0}});
    for (const int items : {4, 8, 16, 32}) wish({.items = items});
    registers();
  }

  /// Lanes, vectors and items decide the order within a row; how many rows a block works on does not.
  void row_reduction() {
    if (base_.lanes <= warp) {
      blocks({128, 512, 64});
      for (const int rows : {1, 2, 4}) {
        Schedule schedule = base_;
        schedule.rows = rows;
        add(schedule);
      }
      blocks({1024});
    } else if (base_.resident && base_.lanes == base_.block && base_.rows == 1) {
      rows_in_turn();
    }
    registers();
  }

  /// Blocks that take rows in turn, and read the next one while they work on one; or the other way round.
  void rows_in_turn() {
    Schedule schedule = base_;
    if (base_.grid > 0) {
      schedule.grid = 0;
      return add(schedule);
    }
    std::int64_t rows = 1;
    for (int axis = 0; axis < kernel_.rank - kernel_.reduced; ++axis)
      rows *= extents_.loop[static_cast<std::size_t>(axis)];
    for (const int threads : {1024, 512}) {
      const int blocks = threads / base_.block;
      if (blocks == 0 || rows < std::int64_t{4} * blocks * device_.multiprocessors) continue;
      schedule.min_blocks = blocks;
      schedule.grid = blocks * device_.multiprocessors;
      add(schedule);
    }
  }

  /// Threads and blocks along the rows and the rows of a batch decide the order within a column; its neighbours do not.
  void column_reduction() {
    const int along = std::max(1, base_.block / base_.columns);
    std::int64_t kept = 1;
    for (int axis = 0; axis < kernel_.rank - kernel_.reduced; ++axis)
      kept *= extents_.loop[static_cast<std::size_t>(axis)];
    const auto side_by_side = [&](int columns, int vector) {
      if (columns == 0) return;
      Schedule schedule = with_block(columns * along);
      schedule.columns = columns;
      schedule.vector = vector;
      if ((columns <= base_.columns || columns <= kept / vector) &&
          columns_shared_bytes(kernel_, schedule) <= static_shared)
        add(schedule);
    };
    side_by_side(base_.columns / 2, base_.vector);
    side_by_side(base_.columns * 2, base_.vector);
    registers();
    if (base_.vector > 1) {
      side_by_side(base_.columns * 2, base_.vector / 2);
      side_by_side(base_.columns, base_.vector / 2);
    }
    side_by_side(base_.columns * 4, base_.vector);
    side_by_side(base_.columns / 4, base_.vector);
  }

  void scan() {
    if (base_.lanes == 0 && !base_.split) {
      for (const int factor : {2, 4}) {
        for (const int columns : {base_.columns / factor, base_.columns * factor}) {
          if (columns == 0) continue;
          Schedule schedule = with_block(columns * base_.rows);
          schedule.columns = columns;
          add(schedule);
        }
      }
    } else if (base_.lanes > 0 && base_.lanes <= warp) {
      blocks({128, 512, 64, 1024});
    }
    registers();
  }

  void wish(const LaunchWish& wish) {
    Schedule schedule = base_;
    if (apply_wish(kernel_, extents_, wish, schedule).empty()) add(schedule);
  }

  void other_orders() {
    same_bits_ = false;
    for (const int block : {128, 256, 512, 1024, 64}) {
      wish({.block = {block, 0, 0}});
      for (const int vectors : {1, 2, 4, 8}) wish({.block = {block, 0, 0}, .items = vectors * base_.vector});
    }
  }

  const Kernel& kernel_;
  const Extents& extents_;
  Schedule base_;  ///< what is changed
  bool same_bits_ = true;
  const DeviceTraits& device_;
  const std::size_t most_;
  std::vector<Candidate> list_;
};

bool scatters(const Kernel& kernel) {
  return std::any_of(kernel.accesses.begin(), kernel.accesses.end(),
                     [](const Access& access) { return access.scatter != Scatter::none || access.places; });
}

}  // namespace

std::string candidate_name(const Schedule& schedule) {
  std::string name = fmt::format("block={} vector={} items={} min_blocks={}", schedule.block, schedule.vector,
                                 schedule.items, schedule.min_blocks);
  const auto tell = [&](const char* field, int value, int usual) {
    if (value != usual) name += fmt::format(" {}={}", field, value);
  };
  tell("lanes", schedule.lanes, 1);
  tell("rows", schedule.rows, 1);
  tell("columns", schedule.columns, 1);
  tell("parts", schedule.parts, 1);
  tell("tile", schedule.tile, 0);
  tell("cluster", schedule.cluster, 1);
  tell("grid", schedule.grid, 0);
  if (schedule.resident) name += " held";
  if (schedule.split) name += " split";
  if (schedule.shifted) name += " shifted";
  return name;
}

std::string schedule_text(const Schedule& schedule) {
  constexpr const char* forms[] = {"flat",  "rows",   "general",       "transpose",        "loops",
                                   "dense", "window", "row_reduction", "column_reduction", "scan"};
  static_assert(std::size(forms) == static_cast<std::size_t>(Template::scan) + 1);
  std::string text = forms[static_cast<std::size_t>(schedule.form)];
  if (schedule.block == 1) return text;  // the CPU
  text += ' ' + candidate_name(schedule);
  if (schedule.whole_vectors || schedule.whole_rows) text += " whole";
  if (schedule.form == Template::window) text += fmt::format(" lead={}", schedule.lead);
  if (schedule.bins > 0) text += fmt::format(" bins={}", schedule.bins);
  return text;
}

std::vector<Candidate> tuning_candidates(const Kernel& kernel, const Extents& extents, const Schedule& heuristic,
                                         const DeviceTraits& device, std::size_t most, bool any_order) {
  if (!device.cuda || kernel.rank == 0 || scatters(kernel)) return {};
  if (std::any_of(extents.loop.begin(), extents.loop.end(), [](std::int64_t n) { return n == 0; })) return {};
  Candidates candidates(kernel, extents, heuristic, device, most);
  candidates.vary(any_order);
  return candidates.take();
}

}  // namespace kiln::codegen
