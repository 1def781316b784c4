// codegen/emit/cuda_window.cpp -- the window form: what a thread needs of an operand is read once, for all places.
//
// Threads whose elements and all they read lie inside take whole vectors; the others read what they need one by one.
#include "codegen/emit/cuda_window.h"

#include <algorithm>

#include "codegen/emit/cuda_types.h"
#include "codegen/emit/cuda_window_form.h"

namespace kiln::codegen::cuda {

WindowWriter::WindowWriter(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options)
    : Writer(kernel, schedule, options),
      inner_(kernel.rank - 1),
      run_(kernel.rank > 1 ? run_axis(kernel) : -1),
      windows_(windows_of(kernel, schedule.items, schedule.vector)) {}

WindowWriter::Way WindowWriter::way_of(std::size_t a) const {
  const Access& access = kernel_.accesses[a];
  if (access.window >= 0) return Way::window;
  if (access.iota || access.is_folded() || access.axes.back() != AxisClass::contiguous) return Way::stepped;
  return Way::vectors;
}

std::string WindowWriter::schedule_text() const {
  return fmt::format("window, {} threads per block, {} x {} elements per thread", schedule_.block, schedule_.items,
                     schedule_.vector);
}

void WindowWriter::statements() {
  position();
  declare();
  for (const Window& window : windows_) pointer(window.leader);
  for (std::size_t a = 0; a < kernel_.accesses.size(); ++a)
    if (way_of(a) == Way::vectors) pointer(a);
  line("const bool inside = {};", inside());
  open("if (inside)");
  whole_reads();
  --indent_;
  open("} else");
  partial_reads();
  close();
  results();
  open("if (inside)");
  writes(true);
  --indent_;
  open("} else");
  writes(false);
  close();
}

// ------------------------------------------------------------------ where a thread is
/// `x` is the thread's first element along the innermost axis, `y` its first row along the run axis; both signed.
void WindowWriter::position() {
  const std::string block = kernel_.index == IndexWidth::bits32 ? "blockIdx.x" : "u64(blockIdx.x)";
  line("const {0} x = {0}({1} * blockDim.x + threadIdx.x) * {2}{3};", step_, block, schedule_.vector,
       schedule_.lead > 0 ? fmt::format(" - {}", schedule_.lead) : "");
  line("if (x >= {}(a.n{})) return;", step_, inner_);
  if (run_ >= 0) outer_position();
  line("const {0} last = {0}(a.n{1}) - x;  // of the thread's elements in a row, those inside", step_, inner_);
  if (schedule_.lead > 0) line("const {} first = -x;", step_);
  if (run_ >= 0 && schedule_.items > 1) line("const {0} rows = {0}(a.n{1}) - y;", step_, run_);
}

void WindowWriter::outer_position() {
  const bool wide = kernel_.index == IndexWidth::bits64;
  const int across = inner_ - 1, items = schedule_.items;
  std::string rest = "block";
  line("const {} block = {} * gridDim.y + blockIdx.y;", index_, wide ? "u64(blockIdx.z)" : "blockIdx.z");
  if (kernel_.rank > 2) {
    const std::string height = across == run_ ? fmt::format("(blockDim.y * {}u)", items) : "blockDim.y";
    line("const {0} tiles = (a.n{1} + {2} - 1) / {2}, above = block / tiles;", index_, across, height);
    line("const {} tile = block - above * tiles;", index_);
    rest = "tile";
  }
  const std::string row = fmt::format("{} * blockDim.y + threadIdx.y", rest);
  if (across == run_) {
    line("const {0} y = {0}({1}) * {2};", step_, row, items);
  } else {
    line("const {} c{} = {};", index_, across, row);
    line("if (c{0} >= a.n{0}) return;", across);
    line("const {0} runs = (a.n{1} + {2}u) / {3}u, batch = above / runs;", index_, run_, items - 1, items);
    line("const {0} y = {0}(above - batch * runs) * {1};", step_, items);
  }
  line("if (y >= {}(a.n{})) return;", step_, run_);
  if (kernel_.rank == 2) return;
  std::vector<int> batch;
  for (int axis = 0; axis < inner_; ++axis)
    if (axis != run_ && axis != across) batch.push_back(axis);
  const std::string number = across == run_ ? "above" : "batch";
  decode_outer(number, batch);
  if (batch.empty()) line("if ({} > 0) return;", number);
}

std::string WindowWriter::coordinate(std::size_t axis) const {
  if (static_cast<int>(axis) == inner_) return "x";
  return static_cast<int>(axis) == run_ ? "y" : fmt::format("c{}", axis);
}

std::string WindowWriter::moved(const std::string& text, int by) const {
  const std::string number = fmt::format("{}({})", step_, text);
  if (by == 0) return text == "x" || text == "y" ? text : number;
  return fmt::format("{} {} {}", text == "x" || text == "y" ? text : number, by < 0 ? "-" : "+", by < 0 ? -by : by);
}

std::string WindowWriter::offset(std::size_t a, const std::vector<int>& at, bool folds) const {
  std::string text;
  for (std::size_t axis = 0; axis < at.size(); ++axis) {
    const Access& access = kernel_.accesses[a];
    if (access.axes[axis] == AxisClass::broadcast) continue;
    std::string position = moved(coordinate(axis), at[axis]);
    if (access.is_folded(axis)) {
      position = folds ? folded(a, axis, position)
                       : fmt::format("({} + {})", position, field(ArgumentKind::fold_start, a, axis));
    } else if (at[axis] != 0) {
      position = "(" + position + ")";
    }
    text += " + " + position;
    if (access.axes[axis] == AxisClass::strided) text += " * " + stride(a, axis);
  }
  return text.empty() ? "0" : text.substr(3);
}

void WindowWriter::pointer(std::size_t a) {
  const std::vector<int> here(static_cast<std::size_t>(kernel_.rank), 0);
  line("{}{}* const {}_at = {} + ({});", is_store(a) ? "" : "const ", storage(a), access_name(a),
       field(ArgumentKind::pointer, a), offset(a, here, false));
}

/// " + 2 * a.x0_s0", or nothing.
std::string WindowWriter::row_step(std::size_t a, int rows) const {
  return run_ < 0 ? "" : axis_step(a, static_cast<std::size_t>(run_), rows);
}

std::string WindowWriter::axis_step(std::size_t a, std::size_t axis, int steps) const {
  const AxisClass along = kernel_.accesses[a].axes[axis];
  if (steps == 0 || along == AxisClass::broadcast) return "";
  const std::string count = steps == 1 || steps == -1 ? "" : fmt::format("{} * ", steps < 0 ? -steps : steps);
  return fmt::format(" {} {}{}", steps < 0 ? "-" : "+", count, along == AxisClass::contiguous ? "1" : stride(a, axis));
}

/// True where whole vectors may be read and written: the thread's elements exist, and nothing is folded.
std::string WindowWriter::inside() const {
  std::vector<std::string> terms;
  if (schedule_.lead > 0) terms.push_back("x >= 0");
  if (!schedule_.whole_vectors && schedule_.vector > 1) terms.push_back(fmt::format("last >= {}", schedule_.vector));
  if (run_ >= 0 && schedule_.items > 1) terms.push_back(fmt::format("rows >= {}", schedule_.items));
  for (const Window& window : windows_) {
    for (int axis = 0; axis < kernel_.rank; ++axis) {
      if (!kernel_.accesses[window.leader].is_folded(static_cast<std::size_t>(axis))) continue;
      int low = 0, high = 0;
      for (const Access& access : kernel_.accesses) {
        if (access.window != static_cast<int>(window.leader)) continue;
        low = std::min(low, displacement_of(access, axis)), high = std::max(high, displacement_of(access, axis));
      }
      high += axis == inner_ ? schedule_.vector - 1 : axis == run_ ? schedule_.items - 1 : 0;
      const std::string start =
          fmt::format("{} + {}", moved(coordinate(static_cast<std::size_t>(axis)), 0),
                      field(ArgumentKind::fold_start, window.leader, static_cast<std::size_t>(axis)));
      terms.push_back(fmt::format("{} >= {}", start, -low));
      terms.push_back(fmt::format("{} < {} - {}", start,
                                  field(ArgumentKind::fold_length, window.leader, static_cast<std::size_t>(axis)),
                                  high));
    }
  }
  return terms.empty() ? "true" : fmt::format("{}", fmt::join(terms, " && "));
}

// ------------------------------------------------------------------ computing and writing
std::string WindowWriter::plane_name(std::size_t leader, std::size_t plane) const {
  return fmt::format("{}_w{}", access_name(leader), plane);
}

void WindowWriter::declare() {
  for (const Window& window : windows_) {
    for (std::size_t p = 0; p < window.planes.size(); ++p)
      line("{} {}[{}][{}];", storage(window.leader), plane_name(window.leader, p), window.planes[p].rows,
           window.planes[p].columns);
  }
  for (std::size_t a = 0; a < kernel_.accesses.size(); ++a) {
    if (way_of(a) != Way::vectors) continue;
    line("{} {}[{}][{}];", storage(a), access_name(a), schedule_.items, schedule_.vector);
    if (is_store(a) && rounds(a)) line("float {}_f32[{}][{}];", access_name(a), schedule_.items, schedule_.vector);
  }
}

/// True for element (r, k) of a thread that lies inside.
std::string WindowWriter::valid() const {
  std::string text = "k < last";
  if (schedule_.lead > 0) text += " && k >= first";
  return run_ >= 0 && schedule_.items > 1 ? text + " && r < rows" : text;
}

/// Of element (r, k) from the thread's first.
std::string WindowWriter::element_offset(std::size_t a) const {
  if (run_ < 0) return "k";
  const auto run = static_cast<std::size_t>(run_);
  const AxisClass along = kernel_.accesses[a].axes[run];
  return along == AxisClass::broadcast    ? "k"
         : along == AxisClass::contiguous ? "r + k"
                                          : fmt::format("r * {} + k", stride(a, run));
}

std::string WindowWriter::element_name(std::size_t a) const {
  const Access& access = kernel_.accesses[a];
  if (way_of(a) == Way::stepped) return access_name(a);
  if (way_of(a) == Way::vectors)
    return fmt::format("{}{}[r][k]", access_name(a), is_store(a) && rounds(a) ? "_f32" : "");
  const auto index = [](const char* name, int by) {
    return by == 0 ? std::string(name) : fmt::format("{} + {}", name, by);
  };
  for (const Window& window : windows_) {
    for (std::size_t p = 0; p < window.planes.size(); ++p) {
      const WindowPlane& plane = window.planes[p];
      if (std::find(plane.members.begin(), plane.members.end(), a) == plane.members.end()) continue;
      const int row = run_ < 0 ? 0 : displacement_of(access, run_);
      return fmt::format("{}[{}][{}]", plane_name(window.leader, p), index("r", row - plane.first_row),
                         index("k", displacement_of(access, inner_) - plane.first_column));
    }
  }
  return {};
}

void WindowWriter::results() {
  bool steps = false;
  for (std::size_t a = 0; a < kernel_.accesses.size(); ++a) steps = steps || way_of(a) == Way::stepped;
  unrolled("r", schedule_.items);
  unrolled("k", schedule_.vector);
  if (steps) {
    if (run_ >= 0) line("const {} c{} = y + r;", step_, run_);
    line("const {} c{} = x + k;", step_, inner_);
    stepped_values();
  }
  body([&](std::size_t a) { return element_name(a); });
  close();
  for (std::size_t a = kernel_.first_store(); a < kernel_.accesses.size(); ++a) {
    if (!rounds(a)) continue;
    const char* function = kernel_.accesses[a].type == DType::f16 ? "round_f16" : "round_bf16";
    line("{0}({1}[r], {1}_f32[r]);", prelude_.use(function), access_name(a));
  }
  close();
}

/// Locals of the operands that are read where they are used. Beyond the end nothing is read.
void WindowWriter::stepped_values() {
  std::vector<int> axes;
  for (int axis = 0; axis < kernel_.rank; ++axis) axes.push_back(axis);
  for (std::size_t a = 0; a < kernel_.accesses.size(); ++a) {
    if (way_of(a) != Way::stepped) continue;
    const std::string offset = outer_offset(a, axes), name = access_name(a);
    if (is_iota(a)) {
      line("const i64 {} = {}{};", name, field(ArgumentKind::offset, a), offset);
    } else {
      line("const {0} {1} = inside || ({2}) ? {3}[{4}] : {0}();", storage(a), name, valid(),
           field(ArgumentKind::pointer, a), offset.empty() ? "0" : offset.substr(3));
    }
  }
}

void WindowWriter::writes(bool whole) {
  for (std::size_t a = kernel_.first_store(); a < kernel_.accesses.size(); ++a) {
    const std::string name = access_name(a);
    if (!whole) {
      unrolled("r", schedule_.items);
      unrolled("k", schedule_.vector);
      line("if ({0}) {1}_at[{2}] = {1}[r][k];", valid(), name, element_offset(a));
      close();
      close();
      continue;
    }
    for (int row = 0; row < schedule_.items; ++row)
      for (const auto& [column, width] : pieces(a, 0, schedule_.vector, [](int) { return true; }))
        line("{0}<{1}>({2}_at{5}{4}, {2}[{3}]{4});", prelude_.use("put"), width, name, row, plus(column),
             row_step(a, row));
  }
}

KernelSource emit_window(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options) {
  return WindowWriter(kernel, schedule, options).write();
}

}  // namespace kiln::codegen::cuda
