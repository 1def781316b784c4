// codegen/emit/cuda_folds.cpp -- operands read displaced: positions beyond the ends of an axis are folded back.
#include "codegen/emit/cuda_types.h"
#include "codegen/emit/cuda_writer.h"

namespace kiln::codegen::cuda {

namespace {

const char* function_of(Fold kind) {
  static constexpr const char* functions[] = {"", "clamp_at", "wrap_at", "reflect_at", "symmetric_at"};
  return functions[static_cast<int>(kind)];
}

}  // namespace

/// Notes the functions that folded operands call.
void Writer::use_folds() {
  for (const Access& access : kernel_.accesses) {
    for (const FoldedAxis& fold : access.folds)
      if (fold.kind != Fold::none) prelude_.use(function_of(fold.kind));
  }
}

std::string Writer::folded(std::size_t a, std::size_t axis, const std::string& position) const {
  return fmt::format("{}({} + {}, {})", function_of(kernel_.accesses[a].folds[axis].kind), position,
                     field(ArgumentKind::fold_start, a, axis), field(ArgumentKind::fold_length, a, axis));
}

std::string Writer::folded_position(std::size_t a, std::size_t axis, const std::string& coordinate) const {
  const bool unit = kernel_.accesses[a].folds[axis].unit_step;
  const std::string step = unit ? "" : " * " + field(ArgumentKind::fold_step, a, axis);
  return folded(a, axis, fmt::format("{}({}){}", step_, coordinate, step));
}

std::string Writer::folded_offset(std::size_t a, std::size_t axis, const std::string& coordinate) const {
  const std::string position = folded_position(a, axis, coordinate);
  const bool contiguous = kernel_.accesses[a].axes[axis] == AxisClass::contiguous;
  return contiguous ? position : fmt::format("{} * {}", position, stride(a, axis));
}

void Writer::folded_elements(std::size_t a, const std::string& local, const std::string& count) {
  const auto inner = static_cast<std::size_t>(kernel_.rank - 1);
  unrolled("k", schedule_.vector);
  const std::string offset = folded_offset(a, inner, fmt::format("{} + k", schedule_.items > 1 ? "j" : "i"));
  line("{0}[k] = {1}(k) < {2} ? {3}[{4}] : {5}();", local, index_, count, pointers_[a], offset, storage(a));
  close();
}

}  // namespace kiln::codegen::cuda
