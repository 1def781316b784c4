// codegen/emit/llvm_turned.cpp -- tiles of whole cache lines on both sides, transposed in registers.
//
// Row by row, every element of a turned operand would come from a cache line of its own, which is gone from the caches
// before the next row needs its neighbour. A tile reads each line once: blocks of vectors are transposed on their way
// into a scratch array, from which the rows of the tile load them like any other operand.
#include "codegen/emit/llvm_turned.h"

#include <algorithm>

#include <fmt/format.h>

#include "codegen/emit/llvm_reduction.h"
#include "codegen/schedule/transpose.h"

namespace kiln::codegen {
namespace {

constexpr int line_bytes = 64;
constexpr int tile_limit = 32;     ///< columns of a tile at most
constexpr int tile_stack = 4;      ///< squares of a tile: it takes so many lines of each page of the turned operand
constexpr int widest_square = 16;  ///< lanes; larger squares would be hundreds of shuffles, and go element by element
constexpr int fewest_rows = 4;     ///< that are worth a tile

class TurnedPrinter : ReductionPrinter {
 public:
  TurnedPrinter(const Kernel& described, const EmitOptions& chosen);
  std::string print(const std::string& entry);

 private:
  bool is_turned(std::size_t a) const { return !scratch_[a].empty(); }
  void print_unit();
  void print_tiles(const std::vector<std::string>& coordinates, const std::string& height, const std::string& rows);
  void fill_scratch(std::size_t a, const std::string& base, const std::string& first, const std::string& height);
  Parts transposed(Parts rows);
  /// Of the next tile: so many rows at a time are more streams than the hardware follows.
  void prefetch(const std::string& pointer, bool writes) {
    b.line(fmt::format("call void @llvm.prefetch.p0(ptr {}, i32 {}, i32 3, i32 1)", pointer, writes ? 1 : 0));
  }
  void for_rows(const std::vector<std::string>& coordinates, const std::string& rows,
                const std::function<void(const std::string& row)>& each);
  void print_vector(const std::string& i, const IrValue* mask);
  std::string tile_address(std::size_t a, const std::string& row, const std::string& column);

  int tile_ = 0;
  std::vector<NodeId> nodes_, memory_nodes_;  ///< all; without the loads of turned operands
  std::vector<std::string> scratch_;          ///< by access: rows of tile_ elements
  std::string blocks_, unit_;                 ///< column blocks of a row; variable that counts units
};

TurnedPrinter::TurnedPrinter(const Kernel& described, const EmitOptions& chosen)
    : ReductionPrinter(described, Template::serial, chosen), scratch_(described.accesses.size()) {
  const auto axis = static_cast<std::size_t>(turned_axis(kernel));
  std::size_t narrowest = 8;
  for (std::size_t a = 0; a < states.size(); ++a) {
    const Access& access = kernel.accesses[a];
    if (access.iota || access.store || access.aliased || is_complex(access.type)) continue;
    if (access.axes.back() != AxisClass::strided || access.axes[axis] != AxisClass::contiguous) continue;
    scratch_[a] = "?";
    narrowest = std::min(narrowest, size_of(access.type));
  }
  tile_ = std::clamp(line_bytes / static_cast<int>(narrowest), b.width(), std::max(tile_limit, b.width()));
  for (std::size_t a = 0; a < states.size(); ++a) {
    if (is_turned(a))
      scratch_[a] = variable(
          fmt::format("[{} x {}]", tile_stack * tile_ * tile_, name_of(storage_lane(kernel.accesses[a].type))));
  }
  for (NodeId id = 0; id < kernel.body.size(); ++id) {
    nodes_.push_back(id);
    const Node& node = kernel.body[id];
    if (node.kind != NodeKind::load || !is_turned(node.payload)) memory_nodes_.push_back(id);
  }
}

std::string TurnedPrinter::tile_address(std::size_t a, const std::string& row, const std::string& column) {
  const std::string number = scalar_add(b, scalar_multiply(b, row, fmt::format("{}", tile_)), column);
  return b.emit_scalar(fmt::format("getelementptr {}, ptr {}, i64 {}", name_of(storage_lane(kernel.accesses[a].type)),
                                   scratch_[a], number));
}

/// A square of vectors: in stage s lanes and rows whose numbers differ in bit s change places.
Parts TurnedPrinter::transposed(Parts rows) {
  const int width = b.width();
  for (int stage = 1; stage < width; stage *= 2) {
    for (int k = 0; k < width; ++k) {
      if (k & stage) continue;
      std::string upper, lower;
      for (int lane = 0; lane < width; ++lane) {
        const bool odd = (lane & stage) != 0;
        upper += fmt::format("{}i32 {}", lane ? ", " : "", odd ? width + lane - stage : lane);
        lower += fmt::format("{}i32 {}", lane ? ", " : "", odd ? width + lane : lane + stage);
      }
      const int partner = k + stage;
      IrValue &a = rows[static_cast<std::size_t>(k)], &c = rows[static_cast<std::size_t>(partner)];
      const auto shuffle = [&](const std::string& lanes) {
        return b.emit(a.lane, fmt::format("shufflevector {0} {1}, {0} {2}, <{3} x i32> <{4}>", b.type(a.lane), a.text,
                                          c.text, width, lanes));
      };
      const IrValue first = shuffle(upper), second = shuffle(lower);
      a = first;
      c = second;
    }
  }
  return rows;
}

/// Elements (row r, column c) of the tile whose first column is `first` and whose first row lies at `base`.
void TurnedPrinter::fill_scratch(std::size_t a, const std::string& base, const std::string& first,
                                 const std::string& height) {
  const AccessState& state = states[a];
  const Lane lane = storage_lane(kernel.accesses[a].type);
  const std::string edge = fmt::format("{}", tile_), &stride = state.stride(kernel.accesses[a].axes.size() - 1);
  const auto element = [&](const std::string& row, const std::string& column) {
    const std::string offset = scalar_multiply(b, scalar_add(b, first, column), stride);
    const std::string line = b.emit_scalar(fmt::format("getelementptr i8, ptr {}, i64 {}", base, offset));
    return b.emit_scalar(fmt::format("getelementptr {}, ptr {}, i64 {}", name_of(lane), line, row));
  };
  const int step = b.width() <= widest_square ? b.width() : 1;
  const CountedLoop columns = begin_loop(b, "0", edge, step);
  const CountedLoop rows = begin_loop(b, "0", height, step);
  if (step == 1) {
    const std::string value =
        b.emit_scalar(fmt::format("load {}, ptr {}, align 1", name_of(lane), element(rows.counter, columns.counter)));
    b.line(fmt::format("store {} {}, ptr {}, align 1", name_of(lane), value,
                       tile_address(a, rows.counter, columns.counter)));
  } else {
    Parts block;
    for (int k = 0; k < step; ++k) {
      const std::string column = scalar_add(b, columns.counter, fmt::format("{}", k));
      block.push_back(load_plain(b, element(rows.counter, column), lane, nullptr));
      prefetch(element(rows.counter, scalar_add(b, column, edge)), false);
    }
    block = transposed(std::move(block));
    for (int k = 0; k < step; ++k) {
      const std::string row = scalar_add(b, rows.counter, fmt::format("{}", k));
      store_plain(b, tile_address(a, row, columns.counter), block[static_cast<std::size_t>(k)], nullptr);
    }
  }
  end_loop(b, rows);
  end_loop(b, columns);
}

void TurnedPrinter::print_vector(const std::string& i, const IrValue* mask) {
  compute(nodes_);
  for (std::size_t k = 0; k < kernel.body.outputs.size(); ++k)
    store_vector(b, states[kernel.first_store() + k], i, body_.output(k, output_type(k)), mask ? mask->text : "");
}

/// `each` with the addresses of the row set, for so many rows from the coordinates on.
void TurnedPrinter::for_rows(const std::vector<std::string>& coordinates, const std::string& rows,
                             const std::function<void(const std::string& row)>& each) {
  const CountedLoop loop = begin_loop(b, "0", rows);
  std::vector<std::string> at = coordinates;
  at.back() = scalar_add(b, at.back(), loop.counter);
  set_rows(moved(base_addresses(), 0, at));
  load_broadcasts(nodes_);
  each(loop.counter);
  end_loop(b, loop);
}

void TurnedPrinter::print_tiles(const std::vector<std::string>& coordinates, const std::string& height,
                                const std::string& rows) {
  const std::string edge = fmt::format("{}", tile_);
  const std::vector<std::string> starts = moved(base_addresses(), 0, coordinates);
  const std::string whole = b.emit_scalar(fmt::format("sub i64 {}, {}", extents.back(), tile_ - 1));
  const CountedLoop tiles = begin_loop(b, "0", whole, tile_);
  for (std::size_t a = 0; a < states.size(); ++a) {
    if (is_turned(a)) fill_scratch(a, starts[a], tiles.counter, height);
  }
  for_rows(coordinates, rows, [&](const std::string& row) {
    const CountedLoop columns = begin_loop(b, "0", edge, b.width());
    const std::string i = scalar_add(b, tiles.counter, columns.counter);
    for (const AccessState& state : states) {
      if (state.access->iota || state.inner() != AxisClass::contiguous) continue;
      const std::string next =
          scalar_multiply(b, scalar_add(b, i, edge), fmt::format("{}", size_of(state.access->type)));
      prefetch(b.emit_scalar(fmt::format("getelementptr i8, ptr {}, i64 {}", state.row, next)), state.access->store);
    }
    load_vectors(memory_nodes_, i, nullptr);
    for (std::size_t a = 0; a < states.size(); ++a) {
      if (!is_turned(a)) continue;
      const std::string pointer = tile_address(a, row, columns.counter);
      values_[a] = {load_plain(b, pointer, storage_lane(kernel.accesses[a].type), nullptr)};
    }
    print_vector(i, nullptr);
    end_loop(b, columns);
  });
  end_loop(b, tiles);
  for_rows(coordinates, rows, [&](const std::string&) {
    for_vectors(tiles.counter, extents.back(), [&](const std::string& i, const IrValue* mask) {
      load_vectors(nodes_, i, mask);
      print_vector(i, mask);
    });
  });
}

/// The unit that the variable counts, or as many rows as a tile takes.
void TurnedPrinter::print_unit() {
  const std::string unit = b.emit_scalar(fmt::format("load i64, ptr {}", unit_));
  const std::string block = b.emit_scalar(fmt::format("urem i64 {}, {}", unit, blocks_));
  std::string rest = b.emit_scalar(fmt::format("udiv i64 {}, {}", unit, blocks_));
  std::vector<std::string> coordinates(rank() - 1);
  for (std::size_t d = rank() - 1; d-- > 1;) {
    coordinates[d] = b.emit_scalar(fmt::format("urem i64 {}, {}", rest, extents[d]));
    rest = b.emit_scalar(fmt::format("udiv i64 {}, {}", rest, extents[d]));
  }
  coordinates[0] = rest;
  const std::string units_left = b.emit_scalar(fmt::format("sub i64 %end, {}", unit));
  const std::string rows_left = b.emit_scalar(fmt::format("udiv i64 {}, {}", units_left, blocks_));
  // Whole squares only: a tile reads as many rows of the turned operands as it is high.
  const std::string below = b.emit_scalar(fmt::format("sub i64 {}, {}", extents[rank() - 2], coordinates.back()));
  const std::string squares =
      scalar_least(b, b.emit_scalar(fmt::format("udiv i64 {}, {}", below, tile_)), fmt::format("{}", tile_stack));
  const std::string height = scalar_multiply(b, squares, fmt::format("{}", tile_));
  const std::string rows = scalar_least(b, rows_left, height);
  const std::string enough = b.emit_scalar(fmt::format("icmp sge i64 {}, {}", rows, fewest_rows));
  const std::string starts = b.emit_scalar(fmt::format("icmp eq i64 {}, 0", block));
  const std::string tiled = b.emit_scalar(fmt::format("and i1 {}, {}", starts, enough));
  const std::string branch = begin_if(b, tiled);
  print_tiles(coordinates, height, rows);
  b.line(fmt::format("store i64 {}, ptr {}", scalar_add(b, unit, scalar_multiply(b, rows, blocks_)), unit_));
  b.line("br label %unit");
  b.label(branch + ".done");
  const std::string first = scalar_multiply(b, block, fmt::format("{}", cpu_column_block));
  const std::string last = scalar_least(b, scalar_add(b, first, fmt::format("{}", cpu_column_block)), extents.back());
  for_rows(coordinates, "1", [&](const std::string&) {
    for_vectors(first, last, [&](const std::string& i, const IrValue* mask) {
      load_vectors(nodes_, i, mask);
      print_vector(i, mask);
    });
  });
  b.line(fmt::format("store i64 {}, ptr {}", scalar_add(b, unit, "1"), unit_));
  b.line("br label %unit");
}

std::string TurnedPrinter::print(const std::string& entry) {
  print_start();
  blocks_ = ceil_divide(b, extents.back(), fmt::format("{}", cpu_column_block));
  unit_ = variable("i64");
  b.line(fmt::format("store i64 %begin, ptr {}", unit_));
  b.line("br label %unit");
  b.label("unit");
  const std::string more =
      b.emit_scalar(fmt::format("icmp slt i64 {}, %end", b.emit_scalar(fmt::format("load i64, ptr {}", unit_))));
  b.line(fmt::format("br i1 {}, label %unit.body, label %units.done", more));
  b.label("unit.body");
  print_unit();
  b.label("units.done");
  return finish(entry);
}

}  // namespace

bool has_turned_tiles(const Kernel& kernel) {
  const int axis = turned_axis(kernel);
  if (axis < 0 || axis != kernel.rank - 2) return false;
  return std::any_of(kernel.accesses.begin(), kernel.accesses.end(), [&](const Access& access) {
    return !access.iota && !access.store && !access.aliased && !is_complex(access.type) &&
           access.axes.back() == AxisClass::strided &&
           access.axes[static_cast<std::size_t>(axis)] == AxisClass::contiguous;
  });
}

std::string print_turned(const Kernel& kernel, const EmitOptions& options, const std::string& entry) {
  return TurnedPrinter(kernel, options).print(entry);
}

}  // namespace kiln::codegen
