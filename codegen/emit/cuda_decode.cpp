// codegen/emit/cuda_decode.cpp -- coordinates of the outer axes and the pointers that follow from them.
#include "codegen/emit/cuda_types.h"
#include "codegen/emit/cuda_writer.h"

namespace kiln::codegen::cuda {

/// Splits `linear` into coordinates c<axis> of `axes` (outermost first) and leaves the kernel where it lies outside.
void Writer::decode_outer(const std::string& linear, const std::vector<int>& axes) {
  std::string rest = linear;
  for (std::size_t i = axes.size(); i-- > 1;) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    const std::string quotient = fmt::format("q{}", axis);
    if (kernel_.index == IndexWidth::bits32) {
      line("const u32 {} = {}({}, {});", quotient, prelude_.use("divide"), rest, field(ArgumentKind::divisor, 0, axis));
    } else {
      line("const u64 {} = {}({}, {});", quotient, prelude_.use("divide64"), rest, extent(axis));
    }
    line("const {} c{} = {} - {} * {};", index_, axis, rest, quotient, extent(axis));
    rest = quotient;
  }
  if (axes.empty()) return;
  line("const {} c{} = {};", index_, axes[0], rest);
  line("if (c{0} >= a.n{0}) return;", axes[0]);
}

/// " + i32(c0) * a.x0_s0 + ..." over `axes`, or empty where the operand does not move along them.
std::string Writer::outer_offset(std::size_t a, const std::vector<int>& axes) const {
  const std::string type = is_iota(a) ? "i64" : step_;
  std::string text;
  for (const int axis : axes) {
    const auto at = static_cast<std::size_t>(axis);
    if (kernel_.accesses[a].is_folded(at)) {
      const std::string offset = folded_offset(a, at, fmt::format("c{}", axis));
      text += is_iota(a) ? fmt::format(" + i64({})", offset) : " + " + offset;
      continue;
    }
    switch (kernel_.accesses[a].axes[at]) {
      case AxisClass::broadcast:
        break;
      case AxisClass::contiguous:
        text += fmt::format(" + {}(c{})", type, axis);
        break;
      case AxisClass::strided:
        text += fmt::format(" + {}(c{}) * {}", type, axis, stride(a, at));
        break;
    }
  }
  return text;
}

/// One local per operand that moves along `axes`: its row of this thread.
void Writer::row_pointers(const std::vector<int>& axes) {
  pointers_.assign(kernel_.accesses.size(), "");
  for (std::size_t a = 0; a < kernel_.accesses.size(); ++a) row_pointer(a, axes);
}

void Writer::row_pointer(std::size_t a, const std::vector<int>& axes) {
  const std::string base = field(is_iota(a) ? ArgumentKind::offset : ArgumentKind::pointer, a);
  const std::string offset = outer_offset(a, axes);
  pointers_[a] = base;
  if (offset.empty()) return;
  pointers_[a] = access_name(a) + "_row";
  if (is_iota(a)) {
    line("const i64 {} = {}{};", pointers_[a], base, offset);
  } else {
    line("{}{}* const {} = {} + ({});", is_store(a) ? "" : "const ", storage(a), pointers_[a], base, offset.substr(3));
  }
}

}  // namespace kiln::codegen::cuda
