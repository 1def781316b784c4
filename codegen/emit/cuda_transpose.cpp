// codegen/emit/cuda_transpose.cpp -- operands that run along another axis than the output go through shared memory.
//
// A block computes one tile: rows along the turned axis, columns along the innermost axis. Turned operands are read by
// vectors along the turned axis, written to padded shared memory and read back along the innermost axis, so that every
// access to device memory is a full vector.
#include <algorithm>

#include "codegen/emit/cuda_types.h"
#include "codegen/emit/cuda_writer.h"

namespace kiln::codegen::cuda {

bool Writer::is_turned(std::size_t a) const {
  return std::find(turned_.begin(), turned_.end(), static_cast<int>(a)) != turned_.end();
}

/// As access_width, but the operand's vectors run along the turned axis.
int Writer::turned_width(std::size_t a) const {
  const Access& access = kernel_.accesses[a];
  const int size = static_cast<int>(size_of(access.type));
  int bytes = std::min<int>(access.alignment, 16);
  for (std::size_t axis = 0; axis < access.axes.size(); ++axis) {
    if (static_cast<int>(axis) != turned_axis_ && access.axes[axis] == AxisClass::contiguous)
      bytes = std::min(bytes, size);
  }
  return std::clamp(bytes / size, 1, schedule_.tile * schedule_.tile / schedule_.block);
}

void Writer::transpose() {
  tile_position();
  tile_declarations();
  open("if (inside)");
  tile_turned_reads(true);
  tile_reads(true);
  --indent_;
  open("} else");
  tile_turned_reads(false);
  tile_reads(false);
  close();
  tile_exchange();
  tile_results();
}

void Writer::tile_position() {
  const int inner = kernel_.rank - 1;
  const bool wide = kernel_.index == IndexWidth::bits64;
  const int tile = schedule_.tile;
  std::vector<int> batch;
  for (int axis = 0; axis < inner; ++axis) {
    if (axis != turned_axis_) batch.push_back(axis);
  }
  line("const {} column = {} * {}u;", index_, wide ? "u64(blockIdx.x)" : "blockIdx.x", tile);
  line("const {} block = {} * gridDim.y + blockIdx.y;", index_, wide ? "u64(blockIdx.z)" : "blockIdx.z");
  if (batch.empty()) {
    line("const {} row = block * {}u;", index_, tile);
    line("if (row >= a.n{}) return;", turned_axis_);
  } else {
    line("const {} tiles = (a.n{} + {}u) / {}u;", index_, turned_axis_, tile - 1, tile);
    line("const {} batch = block / tiles;", index_);
    line("const {} row = (block - batch * tiles) * {}u;", index_, tile);
    decode_outer("batch", batch);
  }
  row_pointers(batch);
  line("const bool inside = row + {0}u <= a.n{1} && column + {0}u <= a.n{2};", tile, turned_axis_, inner);
}

void Writer::tile_declarations() {
  std::vector<int> widths = {schedule_.vector};
  for (const int a : turned_) widths.push_back(turned_width(static_cast<std::size_t>(a)));
  std::sort(widths.begin(), widths.end());
  widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
  for (const int width : widths) {
    line("const u32 x{0} = threadIdx.x % {1}u * {0}u, y{0} = threadIdx.x / {1}u;  // place in a tile of vectors of {0}",
         width, schedule_.tile / width);
  }
  const int count = passes(schedule_.vector);
  for (std::size_t a = 0; a < kernel_.accesses.size(); ++a) {
    if (is_iota(a) || is_gathered(a)) continue;
    const std::string name = access_name(a);
    if (is_turned(a)) {
      const int width = turned_width(a);
      line("__shared__ {} {}_tile[{}][{}];", storage(a), name, schedule_.tile, schedule_.tile + 1);
      line("{} {}_in[{}][{}];", storage(a), name, passes(width), width);
    } else if (is_store(a)) {
      line("{} {}_out[{}];", storage(a), name, schedule_.vector);
      if (rounds(a)) line("float {}_f32[{}];", name, schedule_.vector);
    } else {
      line("{} {}_in[{}][{}];", storage(a), name, count, schedule_.vector);
    }
  }
}

/// Rows of these reads lie along the innermost axis.
void Writer::tile_turned_reads(bool inside) {
  const auto inner = static_cast<std::size_t>(kernel_.rank - 1);
  for (const int turned : turned_) {
    const auto a = static_cast<std::size_t>(turned);
    const int width = turned_width(a);
    unrolled("p", passes(width));
    line("const {} r = column + p * {}u + y{}, c = row + x{};", index_, pass_rows(width), width, width);
    const std::string from = fmt::format("{} + ({}(r) * {} + {}(c))", pointers_[a], step_, stride(a, inner), step_);
    if (inside && !is_underaligned(a)) {
      line("{}<{}>({}_in[p], {});", prelude_.use("read"), width, access_name(a), from);
    } else {
      line("{}({}_in[p], {}, 1, r < a.n{} && c < a.n{} ? a.n{} - c : 0);", prelude_.use("gather"), access_name(a), from,
           inner, turned_axis_, turned_axis_);
    }
    close();
  }
}

/// Moves the vector of access `a` at row `r` and column `c`, which the caller has declared.
void Writer::tile_move(std::size_t a, bool store, bool inside) {
  const auto inner = static_cast<std::size_t>(kernel_.rank - 1);
  const auto axis = static_cast<std::size_t>(turned_axis_);
  const Access& access = kernel_.accesses[a];
  std::string place = pointers_[a];
  if (access.axes[axis] == AxisClass::strided) place += fmt::format(" + {}(r) * {}", step_, stride(a, axis));
  if (access.axes[axis] == AxisClass::contiguous) place += fmt::format(" + {}(r)", step_);
  const AxisClass along = inner_class(a);
  if (along == AxisClass::contiguous) place += fmt::format(" + {}(c)", step_);
  if (along == AxisClass::strided) place += fmt::format(" + {}(c) * {}", step_, stride(a, inner));
  const std::string local = access_name(a) + (store ? "_out" : "_in[p]");
  const std::string to = store ? place : local, from = store ? local : place;
  if (inside && along == AxisClass::contiguous && !is_underaligned(a)) {
    line("{}<{}>({}, {});", prelude_.use(store ? "write" : "read"), access_width(a, schedule_.vector), to, from);
    return;
  }
  const std::string step = along == AxisClass::contiguous  ? "1"
                           : along == AxisClass::broadcast ? "0"
                                                           : stride(a, inner);
  const std::string count = inside ? fmt::format("{}u", schedule_.vector)
                                   : fmt::format("r < a.n{0} && c < a.n{1} ? a.n{1} - c : 0", axis, inner);
  line("{}({}, {}, {}, {});", prelude_.use(store ? "scatter" : "gather"), to, from, step, count);
}

void Writer::tile_reads(bool inside) {
  bool any = false;
  for (std::size_t a = 0; a < kernel_.first_store(); ++a)
    any = any || (!is_iota(a) && !is_gathered(a) && !is_turned(a));
  if (!any) return;
  unrolled("p", passes(schedule_.vector));
  line("const {0} r = row + p * {1}u + y{2}, c = column + x{2};", index_, pass_rows(schedule_.vector),
       schedule_.vector);
  for (std::size_t a = 0; a < kernel_.first_store(); ++a) {
    if (!is_iota(a) && !is_gathered(a) && !is_turned(a)) tile_move(a, false, inside);
  }
  close();
}

void Writer::tile_exchange() {
  for (const int turned : turned_) {
    const auto a = static_cast<std::size_t>(turned);
    const int width = turned_width(a);
    unrolled("p", passes(width));
    unrolled("k", width);
    line("{0}_tile[x{1} + k][p * {2} + y{1}] = {0}_in[p][k];", access_name(a), width, pass_rows(width));
    close();
    close();
  }
  line("__syncthreads();");
}

void Writer::tile_results() {
  const auto inner = static_cast<std::size_t>(kernel_.rank - 1);
  const auto axis = static_cast<std::size_t>(turned_axis_);
  const int width = schedule_.vector;
  unrolled("p", passes(width));
  line("const {0} r = row + p * {1}u + y{2}, c = column + x{2};", index_, pass_rows(width), width);
  unrolled("k", width);
  body([&](std::size_t a) -> std::string {
    const std::string name = access_name(a);
    if (is_store(a)) return fmt::format("{}{}[k]", name, rounds(a) ? "_f32" : "_out");
    if (is_turned(a)) return fmt::format("{0}_tile[p * {1} + y{2}][x{2} + k]", name, pass_rows(width), width);
    if (!is_iota(a)) return name + "_in[p][k]";
    std::string value = pointers_[a];
    const auto& axes = kernel_.accesses[a].axes;
    if (axes[axis] == AxisClass::contiguous) value += " + i64(r)";
    if (axes[axis] == AxisClass::strided) value += fmt::format(" + i64(r) * {}", stride(a, axis));
    if (axes[inner] == AxisClass::contiguous) value += " + i64(c + k)";
    if (axes[inner] == AxisClass::strided) value += fmt::format(" + i64(c + k) * {}", stride(a, inner));
    return "(" + value + ")";
  });
  close();
  for (std::size_t a = kernel_.first_store(); a < kernel_.accesses.size(); ++a) {
    if (!rounds(a)) continue;
    const char* function = kernel_.accesses[a].type == DType::f16 ? "round_f16" : "round_bf16";
    line("{0}({1}_out, {1}_f32);", prelude_.use(function), access_name(a));
  }
  open("if (inside)");
  for (std::size_t a = kernel_.first_store(); a < kernel_.accesses.size(); ++a) tile_move(a, true, true);
  --indent_;
  open("} else");
  for (std::size_t a = kernel_.first_store(); a < kernel_.accesses.size(); ++a) tile_move(a, true, false);
  close();
  close();
}

}  // namespace kiln::codegen::cuda
