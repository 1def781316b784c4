// dsl/operation_count.cpp -- counts the operations of a kernel's body by the loop axes that each depends on.
#include "dsl/operation_count.h"

#include <limits>
#include <vector>

namespace kiln::dsl {
namespace {

using codegen::NodeKind;
using Axes = std::uint32_t;  // bit a: the value changes along loop axis a

Axes axes_of(const codegen::Access& access) {
  Axes axes = 0;
  for (std::size_t a = 0; a < access.axes.size(); ++a)
    if (access.axes[a] != codegen::AxisClass::broadcast) axes |= Axes{1} << a;
  return axes;
}

std::int64_t cost_of(const codegen::Node& node) {
  switch (node.kind) {
    case NodeKind::mulhi:
    case NodeKind::random:
    case NodeKind::reduce:
    case NodeKind::scan:
      return 1;
    case NodeKind::operation:
      return node.op == Op::fma ? 2 : 1;
    default:
      return 0;
  }
}

std::int64_t points(Axes axes, const Shape& loop) {
  std::int64_t count = 1;
  for (int axis = 0; axis < loop.rank; ++axis)
    if ((axes >> axis & 1) && __builtin_mul_overflow(count, loop.extents[axis], &count))
      return std::numeric_limits<std::int64_t>::max();
  return count;
}

}  // namespace

std::int64_t operation_count(const codegen::Kernel& kernel, const Shape& loop) {
  const Axes kept = (Axes{1} << (kernel.rank - kernel.reduced)) - 1;
  std::vector<Axes> axes(kernel.body.size());
  std::int64_t total = 0;
  for (codegen::NodeId id = 0; id < kernel.body.size(); ++id) {
    const codegen::Node& node = kernel.body[id];
    if (node.kind == NodeKind::load || node.kind == NodeKind::iota) axes[id] = axes_of(kernel.accesses[node.payload]);
    for (const codegen::NodeId operand : node.inputs()) axes[id] |= axes[operand];
    const std::int64_t part = cost_of(node);
    std::int64_t operations = 0;
    if (part > 0 && (__builtin_mul_overflow(part, points(axes[id], loop), &operations) ||
                     __builtin_add_overflow(total, operations, &total)))
      return std::numeric_limits<std::int64_t>::max();
    if (node.kind == NodeKind::reduce) axes[id] &= kept;  // one value per row from here on
  }
  return total;
}

}  // namespace kiln::dsl
