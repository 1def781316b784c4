// codegen/emit/cuda_dense.cpp -- the dense form: vectors over all axes at once, coordinates stepped between elements.
#include <algorithm>

#include "codegen/emit/cuda_types.h"
#include "codegen/emit/cuda_writer.h"

namespace kiln::codegen::cuda {

/// `i` is the position of the thread's vector among all elements; `n` is their number.
void Writer::dense() {
  row_pointers({});
  const char* block = kernel_.index == IndexWidth::bits32 ? "blockIdx.x" : "u64(blockIdx.x)";
  line("const {} i = ({} * {}u + threadIdx.x) * {}u;", index_, block, schedule_.block, schedule_.vector);
  std::string count = extent(0);
  for (int axis = 1; axis < kernel_.rank; ++axis) count += " * " + extent(static_cast<std::size_t>(axis));
  line("const {} n = {};", index_, count);
  line("if (i >= n) return;");
  decode_coordinates();
  declare_loads();
  loads();
  compute();
  stores();
}

bool Writer::is_stepped(std::size_t a) const {
  const Access& access = kernel_.accesses[a];
  if (!is_dense_form() || access.dense_alignment > 0) return false;
  const bool moves =
      std::any_of(access.axes.begin(), access.axes.end(), [](AxisClass axis) { return axis != AxisClass::broadcast; });
  return access.iota || moves;
}

int Writer::first_stepped_axis() const {
  int first = kernel_.rank;
  for (std::size_t a = 0; a < kernel_.accesses.size(); ++a) {
    if (!is_stepped(a)) continue;
    const auto& axes = kernel_.accesses[a].axes;
    const auto moving = std::find_if(axes.begin(), axes.end(), [](AxisClass c) { return c != AxisClass::broadcast; });
    first = std::min(first, static_cast<int>(moving - axes.begin()));
  }
  return first;
}

/// c<axis> of the vector's first element, for the axes along which some operand is stepped and those inside them.
void Writer::decode_coordinates() {
  std::string rest = "i";
  const int first = first_stepped_axis();
  for (int inner = kernel_.rank - 1; inner >= first; --inner) {
    const auto axis = static_cast<std::size_t>(inner);
    if (axis == 0) {
      line("{} c0 = {};", index_, rest);
      return;
    }
    std::string quotient = fmt::format("{} / {}", rest, extent(axis));  // two axes have no divisor argument
    if (kernel_.index == IndexWidth::bits64) {
      quotient = fmt::format("{}({}, {})", prelude_.use("divide64"), rest, extent(axis));
    } else if (kernel_.rank > 2) {
      quotient = fmt::format("{}({}, {})", prelude_.use("divide"), rest, field(ArgumentKind::divisor, 0, axis));
    }
    line("const {} q{} = {};", index_, axis, quotient);
    line("{0} c{1} = {2} - q{1} * {3};", index_, axis, rest, extent(axis));
    rest = fmt::format("q{}", axis);
  }
}

/// From one element to the next, carrying outwards.
void Writer::step_coordinates() {
  const int first = first_stepped_axis(), inner = kernel_.rank - 1;
  if (first > inner) return;
  std::string text = first == 0 ? "++c0;" : fmt::format("if (++c{0} == a.n{0}) c{0} = 0;", first);
  for (int axis = first + 1; axis <= inner; ++axis)
    text = fmt::format("if (++c{0} == a.n{0}) {{ c{0} = 0; {1} }}", axis, text);
  line("{}", text);
}

/// Beyond the end of a partial vector nothing is read.
void Writer::stepped_operands() {
  std::vector<int> axes;
  for (int axis = 0; axis < kernel_.rank; ++axis) axes.push_back(axis);
  for (std::size_t a = 0; a < kernel_.accesses.size(); ++a) {
    if (!is_stepped(a)) continue;
    const std::string offset = outer_offset(a, axes), name = access_name(a);
    if (is_iota(a)) {
      line("const i64 {} = {}{};", name, pointers_[a], offset);
    } else if (schedule_.whole_vectors) {
      line("const {} {} = {}[{}];", storage(a), name, pointers_[a], offset.substr(3));
    } else {
      line("const {0} {1} = {2}(k) < count ? {3}[{4}] : {0}();", storage(a), name, index_, pointers_[a],
           offset.substr(3));
    }
  }
}

}  // namespace kiln::codegen::cuda
