// codegen/schedule/transpose.cpp -- which operands of a kernel run along another axis than its output.
#include "codegen/schedule/transpose.h"

namespace kiln::codegen {
namespace {

bool is_turned_along(const Access& access, std::size_t axis) {
  return !access.iota && !access.store && access.axes.back() == AxisClass::strided &&
         access.axes[axis] == AxisClass::contiguous;
}

}  // namespace

int turned_axis(const Kernel& kernel) {
  if (kernel.rank < 2 || kernel.has_folds()) return -1;
  for (const Access& access : kernel.accesses) {
    if (access.store && access.axes.back() != AxisClass::contiguous) return -1;
  }
  for (const Access& access : kernel.accesses) {
    for (std::size_t axis = access.axes.size() - 1; axis-- > 0;) {
      if (is_turned_along(access, axis)) return static_cast<int>(axis);
    }
  }
  return -1;
}

std::vector<int> turned_accesses(const Kernel& kernel, int tile) {
  constexpr std::size_t shared_limit = 48 * 1024;
  std::vector<int> turned;
  const int axis = turned_axis(kernel);
  std::size_t bytes = 0;
  for (std::size_t a = 0; axis >= 0 && a < kernel.accesses.size(); ++a) {
    const Access& access = kernel.accesses[a];
    if (!is_turned_along(access, static_cast<std::size_t>(axis))) continue;
    bytes += static_cast<std::size_t>(tile * (tile + 1)) * size_of(access.type);
    if (bytes > shared_limit) break;
    turned.push_back(static_cast<int>(a));
  }
  return turned;
}

}  // namespace kiln::codegen
