// codegen/ir/kernel.cpp -- the argument block of a kernel and its structural identity.
#include "codegen/ir/kernel.h"

#include <algorithm>

#include <fmt/format.h>

namespace kiln::codegen {
namespace {

constexpr std::uint32_t round_up(std::uint32_t value, std::uint32_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Appends fields one after another, each at its natural alignment.
class LayoutBuilder {
 public:
  void append(ArgumentKind kind, std::size_t a, std::size_t axis, std::size_t size, std::size_t alignment) {
    Argument argument;
    argument.kind = kind;
    argument.a = static_cast<std::uint16_t>(a);
    argument.axis = static_cast<std::uint16_t>(axis);
    argument.offset = round_up(layout_.size, static_cast<std::uint32_t>(alignment));
    argument.size = static_cast<std::uint32_t>(size);
    layout_.size = argument.offset + argument.size;
    layout_.arguments.push_back(argument);
  }
  ArgumentLayout finish() {
    layout_.size = round_up(layout_.size, 8);
    return std::move(layout_);
  }

 private:
  ArgumentLayout layout_;
};

char axis_letter(AxisClass axis) {
  return axis == AxisClass::contiguous ? 'c' : axis == AxisClass::broadcast ? 'b' : 's';
}

}  // namespace

std::size_t Kernel::first_store() const {
  const auto store = std::find_if(accesses.begin(), accesses.end(), [](const Access& access) { return access.store; });
  return static_cast<std::size_t>(store - accesses.begin());
}

bool Kernel::has_folds() const {
  return std::any_of(accesses.begin(), accesses.end(), [](const Access& access) { return access.is_folded(); });
}

bool Kernel::has_windows() const {
  return std::any_of(accesses.begin(), accesses.end(), [](const Access& access) { return access.window >= 0; });
}

ArgumentLayout argument_layout(const Kernel& kernel) {
  LayoutBuilder builder;
  const auto& accesses = kernel.accesses;
  const auto rank = static_cast<std::size_t>(kernel.rank);
  const std::size_t index_bytes = kernel.index == IndexWidth::bits32 ? 4 : 8;
  const auto shares_arguments = [&](std::size_t a) {
    return accesses[a].window >= 0 && accesses[a].window != static_cast<int>(a);
  };
  for (std::size_t a = 0; a < accesses.size(); ++a) {
    if (!accesses[a].iota && !shares_arguments(a)) builder.append(ArgumentKind::pointer, a, 0, 8, 8);
  }
  for (std::size_t a = 0; a < accesses.size(); ++a) {
    if (accesses[a].iota) builder.append(ArgumentKind::offset, a, 0, 8, 8);
  }
  for (std::size_t f = 0; kernel.calls_host && f < kernel.body.functions().size(); ++f)
    if (!kernel.body.functions()[f]->loop) builder.append(ArgumentKind::function, f, 0, 8, 8);
  if (kernel.reduced > 0) {
    builder.append(ArgumentKind::workspace, 0, 0, 8, 8);
    builder.append(ArgumentKind::counters, 0, 0, 8, 8);
  }
  for (std::size_t axis = 0; axis < rank; ++axis)
    builder.append(ArgumentKind::extent, 0, axis, index_bytes, index_bytes);
  for (std::size_t a = 0; a < accesses.size(); ++a) {
    for (std::size_t axis = 0; axis < accesses[a].axes.size(); ++axis) {
      if (accesses[a].axes[axis] != AxisClass::strided || shares_arguments(a)) continue;
      builder.append(ArgumentKind::stride, a, axis, index_bytes, index_bytes);
    }
  }
  for (std::size_t a = 0; a < accesses.size(); ++a) {
    for (std::size_t axis = 0; axis < accesses[a].folds.size(); ++axis) {
      if (!accesses[a].is_folded(axis) || shares_arguments(a)) continue;
      builder.append(ArgumentKind::fold_start, a, axis, index_bytes, index_bytes);
      if (!accesses[a].folds[axis].unit_step)
        builder.append(ArgumentKind::fold_step, a, axis, index_bytes, index_bytes);
      builder.append(ArgumentKind::fold_length, a, axis, index_bytes, index_bytes);
    }
  }
  // Splitting a flat index never divides by the outermost extent.
  const bool divides = kernel.index == IndexWidth::bits32 && rank >= (kernel.reduced > 0 ? 2u : 3u);
  for (std::size_t axis = 1; divides && axis < rank; ++axis) builder.append(ArgumentKind::divisor, 0, axis, 8, 4);

  std::vector<std::size_t> order(kernel.parameters.size());
  for (std::size_t p = 0; p < order.size(); ++p) order[p] = p;
  const auto bytes_of = [&](std::size_t p) { return size_of(compute_type(kernel.parameters[p])); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return bytes_of(a) > bytes_of(b); });
  for (const std::size_t p : order) {
    const DType type = compute_type(kernel.parameters[p]);
    builder.append(ArgumentKind::parameter, p, 0, size_of(type), size_of(real_of(type)));
  }
  return builder.finish();
}

std::string kernel_key(const Kernel& kernel) {
  std::string key = fmt::format("rank {} index {}\n", kernel.rank, kernel.index == IndexWidth::bits32 ? 32 : 64);
  if (kernel.reduced > 0) key += fmt::format("reduced {}\n", kernel.reduced);
  if (kernel.calls_host) key += "calls host functions\n";
  for (const Access& access : kernel.accesses) {
    key += fmt::format("{} {}{} align {} axes ",
                       access.store      ? "store"
                       : access.iota     ? "iota"
                       : access.gathered ? "gathered"
                                         : "load",
                       name_of(access.type), access.aliased ? " aliased" : "", access.alignment);
    for (const AxisClass axis : access.axes) key += axis_letter(axis);
    if (access.scatter != Scatter::none) key += fmt::format(" scatter {}", static_cast<int>(access.scatter));
    if (access.dense_alignment > 0) key += fmt::format(" dense {}", access.dense_alignment);
    for (const FoldedAxis& fold : access.folds)
      key += fmt::format(" fold {}{}", static_cast<int>(fold.kind), fold.unit_step ? "" : "s");
    if (access.window >= 0) key += fmt::format(" window {} at {}", access.window, fmt::join(access.displacement, ","));
    if (access.row_alignment > 0) key += fmt::format(" rows {} phase {}", access.row_alignment, access.phase);
    key += '\n';
  }
  key += "parameters";
  for (const DType type : kernel.parameters) key += fmt::format(" {}", name_of(type));
  return key + '\n' + to_text(kernel.body);
}

}  // namespace kiln::codegen
