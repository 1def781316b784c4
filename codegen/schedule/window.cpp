// codegen/schedule/window.cpp -- windows of registers, and how large they may be.
#include "codegen/schedule/window.h"

#include <algorithm>

#include <fmt/format.h>

#include "codegen/schedule/arithmetic.h"
#include "codegen/schedule/schedule.h"

namespace kiln::codegen {
namespace {

constexpr int access_bytes = 16;
/// 32-bit registers for operands and results that leave room for addresses below 64.
constexpr int register_budget = 56;
constexpr int least_columns = 64;  ///< shorter rows leave most of a block idle

int registers_of(DType type) { return static_cast<int>(std::max<std::size_t>(4, size_of(type)) / 4); }

bool moves_inside(const Access& access) { return access.axes.back() == AxisClass::contiguous; }

/// Registers that hold what a thread reads and writes.
int registers(const Kernel& kernel, int rows, int vector) {
  int count = 0;
  for (const Window& window : windows_of(kernel, rows, vector)) {
    int elements = 0;
    for (const WindowPlane& plane : window.planes)
      elements += static_cast<int>(std::count(plane.needed.begin(), plane.needed.end(), 1));
    count += elements * registers_of(kernel.accesses[window.leader].type);
  }
  for (const Access& access : kernel.accesses) {
    if (access.window < 0 && !access.iota && moves_inside(access)) count += rows * vector * registers_of(access.type);
  }
  return count;
}

/// Elements of a full access of the widest operand.
int widest_vector(const Kernel& kernel) {
  std::size_t bytes = 1;
  for (const Access& access : kernel.accesses)
    if (!access.iota && moves_inside(access)) bytes = std::max(bytes, size_of(access.type));
  return std::max(1, access_bytes / static_cast<int>(bytes));
}

/// Elements that a store may write in one access.
int store_width(const Kernel& kernel) {
  int width = access_bytes;
  for (const Access& access : kernel.accesses) {
    if (access.store)
      width = std::min(width, std::max(1, access.row_alignment / static_cast<int>(size_of(access.type))));
  }
  return width;
}

void mark_needed(const Kernel& kernel, WindowPlane& plane, int run, int rows, int vector) {
  const int inner = kernel.rank - 1;
  int last_row = 0, last_column = 0;
  for (std::size_t m = 0; m < plane.members.size(); ++m) {
    const Access& access = kernel.accesses[plane.members[m]];
    const int row = run < 0 ? 0 : displacement_of(access, run), column = displacement_of(access, inner);
    plane.first_row = m == 0 ? row : std::min(plane.first_row, row);
    plane.first_column = m == 0 ? column : std::min(plane.first_column, column);
    last_row = m == 0 ? row : std::max(last_row, row);
    last_column = m == 0 ? column : std::max(last_column, column);
  }
  plane.rows = last_row - plane.first_row + rows;
  plane.columns = last_column - plane.first_column + vector;
  plane.needed.assign(static_cast<std::size_t>(plane.rows) * static_cast<std::size_t>(plane.columns), 0);
  for (const std::size_t member : plane.members) {
    const Access& access = kernel.accesses[member];
    const int row = (run < 0 ? 0 : displacement_of(access, run)) - plane.first_row;
    const int column = displacement_of(access, inner) - plane.first_column;
    for (int r = 0; r < rows; ++r)
      for (int k = 0; k < vector; ++k) {
        const int at = (row + r) * plane.columns + column + k;
        plane.needed[static_cast<std::size_t>(at)] = 1;
      }
  }
}

}  // namespace

int displacement_of(const Access& access, int axis) {
  return access.displacement.empty() ? 0 : access.displacement[static_cast<std::size_t>(axis)];
}

int run_axis(const Kernel& kernel) {
  for (int axis = 0; axis + 1 < kernel.rank; ++axis) {
    for (const Access& access : kernel.accesses)
      if (displacement_of(access, axis) != 0) return axis;
  }
  return kernel.rank - 2;  // -1 for rank 1
}

std::vector<Window> windows_of(const Kernel& kernel, int rows, int vector) {
  const int run = kernel.rank > 1 ? run_axis(kernel) : -1;
  std::vector<Window> windows;
  for (std::size_t a = 0; a < kernel.accesses.size(); ++a) {
    const Access& access = kernel.accesses[a];
    if (access.window < 0) continue;
    const auto leader = static_cast<std::size_t>(access.window);
    auto window = std::find_if(windows.begin(), windows.end(), [&](const Window& w) { return w.leader == leader; });
    if (window == windows.end()) window = windows.insert(window, {leader, {}});
    std::vector<std::int8_t> at = access.displacement;
    at.back() = 0;
    if (run >= 0) at[static_cast<std::size_t>(run)] = 0;
    auto plane =
        std::find_if(window->planes.begin(), window->planes.end(), [&](const WindowPlane& p) { return p.at == at; });
    if (plane == window->planes.end()) {
      plane = window->planes.emplace(plane);
      plane->at = at;
    }
    plane->members.push_back(a);
  }
  for (Window& window : windows)
    for (WindowPlane& plane : window.planes) mark_needed(kernel, plane, run, rows, vector);
  return windows;
}

bool window_fits(const Kernel& kernel, const Extents& extents) {
  if (!kernel.has_windows() || kernel.rank == 0 || extents.loop.back() < least_columns) return false;
  for (const Access& access : kernel.accesses) {
    if (access.store && !moves_inside(access)) return false;
    if (!access.store && !access.iota && access.axes.back() == AxisClass::strided) return false;
    if (is_complex(access.type) || access.gathered || access.places || access.scatter != Scatter::none) return false;
  }
  if (kernel.body.size() > 1000) return false;
  return registers(kernel, 1, 1) <= 2 * register_budget;
}

Schedule choose_window(const Kernel& kernel, const Extents& extents) {
  Schedule schedule;
  schedule.form = Template::window;
  int vector = widest_vector(kernel), rows = 1;
  while (vector > 1 && registers(kernel, 1, vector) > register_budget) vector /= 2;
  // Vectors that a store has to split into single elements would write parts of sectors.
  if (store_width(kernel) < std::min(vector, 2)) vector = 1;
  const std::int64_t height = kernel.rank > 1 ? extents.loop[static_cast<std::size_t>(run_axis(kernel))] : 1;
  while (rows < 8 && rows * vector < 16 && 2 * rows <= height && registers(kernel, 2 * rows, vector) <= register_budget)
    rows *= 2;
  schedule.vector = vector;
  schedule.items = rows;
  for (const Access& access : kernel.accesses) {
    if (!access.store) continue;
    schedule.lead =
        access.phase % std::min(vector, std::max(1, access.row_alignment / static_cast<int>(size_of(access.type))));
    break;
  }
  schedule.whole_vectors = schedule.lead == 0 && extents.loop.back() % vector == 0;
  const std::int64_t threads = ceil_divide(extents.loop.back() + schedule.lead, vector);
  schedule.columns =
      kernel.rank == 1 ? schedule.block : static_cast<int>(std::min<std::int64_t>(32, power_of_two_up(threads)));
  schedule.min_blocks = registers(kernel, rows, vector) > register_budget ? 2 : 4;
  schedule.reason = fmt::format(
      "operands read at neighbouring places: each thread reads what {} x {} elements need once, into registers", rows,
      vector);
  return schedule;
}

WindowGrid window_grid(const Kernel& kernel, const Schedule& schedule, const Extents& extents) {
  WindowGrid grid;
  grid.columns = ceil_divide(ceil_divide(extents.loop.back() + schedule.lead, schedule.vector), schedule.columns);
  const int run = run_axis(kernel), across = kernel.rank - 2;
  for (int axis = 0; axis + 1 < kernel.rank; ++axis) {
    const std::int64_t tile =
        (axis == run ? schedule.items : 1) * (axis == across ? schedule.block / schedule.columns : 1);
    grid.rows *= ceil_divide(extents.loop[static_cast<std::size_t>(axis)], tile);
  }
  return grid;
}

}  // namespace kiln::codegen
