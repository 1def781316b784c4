// dsl/c/graph_text.cpp -- a graph of the C interface as text: a line per call.
#include <fmt/format.h>

#include "dsl/c/fault.h"
#include "dsl/c/function.h"
#include "dsl/c/graph.h"
#include "dsl/c/tables.h"

namespace kiln::dsl::c {
namespace {

/// "sum", "add", "uniform", "take": what the line says after "=".
const char* head_of(const Step& step) {
  switch (step.kind) {
    case StepKind::operation:
      return detail::op_info(op_of(step.code)).name;
    case StepKind::reduce:
      return name_of(reduction_names(), step.code, "KILN_REDUCE_");
    case StepKind::scan:
      return name_of(scan_names(), step.code, "KILN_SCAN_");
    case StepKind::random:
      return name_of(random_names(), step.code, "KILN_RANDOM_");
    case StepKind::take:
      return name_of(take_names(), step.code, "KILN_TAKE_");
    default:
      return word_of(step.kind);
  }
}

std::string list_text(std::span<const std::int64_t> numbers) { return fmt::format("[{}]", fmt::join(numbers, ", ")); }

std::string items_text(std::span<const std::int64_t> numbers) {
  std::string text = "[";
  for (std::size_t i = 0; i < numbers.size(); i += 4) {
    if (i > 0) text += ", ";
    if (numbers[i] & KILN_SLICE_INDEX) {
      text += fmt::format("{}", numbers[i + 1]);
      continue;
    }
    if (numbers[i] & KILN_SLICE_HAS_START) text += fmt::format("{}", numbers[i + 1]);
    text += ':';
    if (numbers[i] & KILN_SLICE_HAS_STOP) text += fmt::format("{}", numbers[i + 2]);
    text += fmt::format(":{}", numbers[i + 3]);
  }
  return text + "]";
}

/// Literals keep their bits; of c128 the high word comes first.
std::string bits_text(DType type, std::span<const std::int64_t> numbers) {
  const auto low = static_cast<std::uint64_t>(numbers[0]), high = static_cast<std::uint64_t>(numbers[1]);
  if (size_of(type) == 16) return fmt::format("0x{:016x}{:016x}", high, low);
  return fmt::format("0x{:0{}x}", low, 2 * size_of(type));
}

std::string attributes_of(const Step& step) {
  switch (step.kind) {
    case StepKind::input:
      return fmt::format(" type={} rank={}", kiln::name_of(step.type), step.numbers[0]);
    case StepKind::scalar:
      return fmt::format(" type={}{}", kiln::name_of(step.type), step.flags & Step::strong ? " strong" : "");
    case StepKind::constant:
      return fmt::format(" type={} bits={}{}", kiln::name_of(step.type), bits_text(step.type, step.numbers),
                         step.flags & Step::strong ? " strong" : "");
    case StepKind::cast:
    case StepKind::random:
      return fmt::format(" type={}", kiln::name_of(step.type));
    case StepKind::extent:
      if (step.numbers[0] == KILN_ALL_AXES) return "";
      [[fallthrough]];
    case StepKind::index:
    case StepKind::scan:
    case StepKind::scan_by:
      return fmt::format(" axis={}", step.numbers[0]);
    case StepKind::reduce:
    case StepKind::reduce_by: {
      std::string text;
      if (step.flags & Step::named) text += " axes=" + list_text(step.numbers.subspan(1));
      if (step.flags & Step::keepdims) text += " keepdims";
      if (step.flags & Step::accumulates) text += fmt::format(" accumulate={}", kiln::name_of(step.type));
      if (step.numbers[0] != 0) text += fmt::format(" ddof={}", step.numbers[0]);
      return text;
    }
    case StepKind::take: {
      const auto outside = static_cast<std::int32_t>(step.flags);
      return fmt::format("{} outside={}", step.code == KILN_TAKE_flat ? "" : fmt::format(" axis={}", step.numbers[0]),
                         name_of(outside_names(), outside, "KILN_OUTSIDE_"));
    }
    case StepKind::shift:
      return fmt::format(" by={} beyond={}", list_text(step.numbers),
                         name_of(beyond_names(), step.code, "KILN_BEYOND_"));
    case StepKind::reshape:
    case StepKind::broadcast_to:
      return " to=" + list_text(step.numbers);
    case StepKind::slice:
      return " items=" + items_text(step.numbers);
    case StepKind::operation:
      return "";
    case StepKind::call:
      return fmt::format(" function=\"{}\"", step.callee->name());
    default:
      return " axes=" + list_text(step.numbers);
  }
}

void append_values(std::string& text, std::span<const kiln_value> values) {
  const char* separator = " ";
  for (const kiln_value value : values) {
    text += fmt::format("{}%{}", separator, value);
    separator = ", ";
  }
}

/// The lines, `indent` in front of each. Functions hold no functions.
void append_lines(std::string& text, const Program& program, const std::string& indent) {
  kiln_value next = 0;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const Step step = program[i];
    text += indent;
    for (std::uint32_t k = 0; k < step.results; ++k) text += fmt::format("{}%{}", k ? ", " : "", next++);
    text += fmt::format(" = {}", head_of(step));
    append_values(text, step.operands);
    text += attributes_of(step);
    if (step.function) {
      text += " {\n";
      append_lines(text, *step.function, indent + "  ");
      text += indent + "}";
    }
    text += '\n';
  }
  if (program.outputs().empty()) return;
  text += indent + "output";
  append_values(text, program.outputs());
  text += '\n';
}

}  // namespace

std::string text_of(const Program& program) {
  std::string text = "kiln graph 1\n";
  if (program.name()) text += fmt::format("name \"{}\"\n", program.name());
  append_lines(text, program, "");
  return text;
}

}  // namespace kiln::dsl::c
