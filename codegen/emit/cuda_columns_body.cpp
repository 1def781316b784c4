// codegen/emit/cuda_columns_body.cpp -- column reductions: values per column and per element, loads and stores.
#include <algorithm>

#include "codegen/emit/cuda_columns.h"
#include "codegen/emit/cuda_types.h"

namespace kiln::codegen::cuda {

/// Declares, as arrays over the columns of this thread, the values of columns that `roots` need.
void ColumnWriter::column_values(std::span<const NodeId> roots) {
  const Graph& graph = kernel_.body;
  const std::vector<char> needed = below(roots);
  std::vector<NodeId> computed;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!needed[id] || stages_.per_element[id]) continue;
    const Node& node = graph[id];
    switch (node.kind) {
      case NodeKind::load:
        load_columns(static_cast<std::size_t>(node.payload));
        [[fallthrough]];
      case NodeKind::iota:
      case NodeKind::literal:
      case NodeKind::parameter:
        name_node(graph, id, names_, "", [this](std::size_t a) { return column_place(a); });
        break;
      case NodeKind::tuple:
        break;
      default:
        line("{} {}[{}];", value_type(node.type), locals_[id], schedule_.vector);
        computed.push_back(id);
    }
  }
  if (computed.empty()) return;
  unrolled("k", schedule_.vector);
  for (const NodeId id : computed) {
    line_directive(graph, id);
    line("{}[k] = {};", locals_[id], value_text(graph, id, names_));
    names_[id] = locals_[id] + "[k]";
  }
  close();
}

/// Elements of access `a` that one memory access may cover.
int ColumnWriter::vector_width(std::size_t a) const {
  const Access& access = kernel_.accesses[a];
  const int size = static_cast<int>(size_of(access.type));
  for (std::size_t axis = 0; axis < access.axes.size(); ++axis) {
    if (static_cast<int>(axis) != kept_ - 1 && access.axes[axis] == AxisClass::contiguous) return 1;
  }
  return std::clamp(std::min<int>(access.alignment, 16) / size, 1, schedule_.vector);
}

void ColumnWriter::read_vector(std::size_t a, const std::string& local, const std::string& from) {
  if (column_class(a) == AxisClass::contiguous && !is_underaligned(a)) {
    line("{}<{}>({}, {});", prelude_.use("read"), vector_width(a), local, from);
    return;
  }
  const std::string step =
      column_class(a) == AxisClass::contiguous ? "1" : stride(a, static_cast<std::size_t>(kept_ - 1));
  line("{}({}, {}, {}, {}u);", prelude_.use("gather"), local, from, step, schedule_.vector);
}

void ColumnWriter::write_vector(std::size_t a, const std::string& local, const std::string& to) {
  if (column_class(a) == AxisClass::broadcast) {
    line("*({}) = {}[0];", to, local);
  } else if (column_class(a) == AxisClass::contiguous && !is_underaligned(a)) {
    line("{}<{}>({}, {});", prelude_.use("write"), vector_width(a), to, local);
  } else {
    const std::string step =
        column_class(a) == AxisClass::contiguous ? "1" : stride(a, static_cast<std::size_t>(kept_ - 1));
    line("{}({}, {}, {}, {}u);", prelude_.use("scatter"), to, local, step, schedule_.vector);
  }
}

void ColumnWriter::round_results(std::size_t a, const std::string& index) {
  if (!rounds(a)) return;
  const char* function = kernel_.accesses[a].type == DType::f16 ? "round_f16" : "round_bf16";
  line("{0}({1}{2}, {1}_f32{2});", prelude_.use(function), access_name(a), index);
}

/// An operand with one value per column, or one value for all columns of the thread.
void ColumnWriter::load_columns(std::size_t a) {
  const std::string name = access_name(a);
  if (column_class(a) == AxisClass::broadcast) {
    line("const {} {} = *{};", storage(a), name, pointers_[a]);
    return;
  }
  line("{} {}[{}];", storage(a), name, schedule_.vector);
  read_vector(a, name, pointers_[a]);
}

std::vector<std::size_t> ColumnWriter::operands_below(std::span<const NodeId> roots) const {
  const std::vector<char> needed = below(roots);
  std::vector<std::size_t> result;
  for (NodeId id = 0; id < kernel_.body.size(); ++id) {
    const NodeKind kind = kernel_.body[id].kind;
    if (needed[id] && stages_.per_element[id] && (kind == NodeKind::load || kind == NodeKind::iota))
      result.push_back(static_cast<std::size_t>(kernel_.body[id].payload));
  }
  std::sort(result.begin(), result.end());
  return result;
}

bool ColumnWriter::needs_coordinates(std::span<const NodeId> roots) const {
  const std::vector<std::size_t> operands = operands_below(roots);
  return std::any_of(operands.begin(), operands.end(), [this](std::size_t a) { return is_iota(a); });
}

/// All loads of a batch. Row `at` reads the last one where it is `beyond` the end: no load waits for a branch.
void ColumnWriter::load_rows(std::vector<std::size_t> loads, const std::vector<RowGather>& gathers,
                             const std::string& beyond) {
  std::erase_if(loads, [this](std::size_t a) { return is_iota(a); });
  if (!loads.empty()) load_batch(loads, beyond);
  if (!gathers.empty()) load_batch_gathers(gathers, beyond);
}

void ColumnWriter::load_batch(const std::vector<std::size_t>& loads, const std::string& beyond) {
  for (const std::size_t a : loads) {
    const std::string columns = column_class(a) == AxisClass::broadcast ? "" : fmt::format("[{}]", schedule_.vector);
    line("{} {}[{}]{}{};", storage(a), access_name(a), schedule_.items, columns, schedule_.resident ? " = {}" : "");
  }
  if (schedule_.resident) open("if (last > 0)");
  unrolled("u", schedule_.items);
  line("const {} at = {};", index_, row());
  row_coordinates(beyond + " ? last - 1 : at");
  for (const std::size_t a : loads) {
    const std::string from = pointers_[a] + row_offset(a);
    if (column_class(a) == AxisClass::broadcast) {
      line("{}[u] = *({});", access_name(a), from);
    } else {
      read_vector(a, access_name(a) + "[u]", from);
    }
  }
  close();
  if (schedule_.resident) close();
}

/// Declares the coordinates of row `linear` along the reduced axes.
void ColumnWriter::row_coordinates(const std::string& linear) {
  if (kernel_.reduced == 1) {
    line("const {} c{} = {};", index_, kept_, linear);
    return;
  }
  line("const {} r = {};", index_, linear);
  decode("r", kept_, kernel_.rank);
}

std::string ColumnWriter::row_offset(std::size_t a) const {
  std::vector<int> axes;
  for (int axis = kept_; axis < kernel_.rank; ++axis) axes.push_back(axis);
  return outer_offset(a, axes);
}

/// Splits `linear` into coordinates c<axis> of the axes [first_axis, end_axis).
void ColumnWriter::decode(const std::string& linear, int first_axis, int end_axis) {
  std::string rest = linear;
  for (int axis = end_axis - 1; axis > first_axis; --axis) {
    const auto at = static_cast<std::size_t>(axis);
    const std::string quotient = fmt::format("q{}", axis);
    if (kernel_.index == IndexWidth::bits32) {
      line("const u32 {} = {}({}, {});", quotient, prelude_.use("divide"), rest, field(ArgumentKind::divisor, 0, at));
    } else {
      line("const u64 {} = {}({}, {});", quotient, prelude_.use("divide64"), rest, extent(at));
    }
    line("const {} c{} = {} - {} * {};", index_, axis, rest, quotient, extent(at));
    rest = quotient;
  }
  line("const {} c{} = {};", index_, first_axis, rest);
}

/// Where column k of row u of the batch finds access `a`.
std::string ColumnWriter::element_place(std::size_t a) const {
  if (is_iota(a)) {
    const std::string start = column_place(a);
    return fmt::format("({}{})", start, row_offset(a));
  }
  return column_class(a) == AxisClass::broadcast ? access_name(a) + "[u]" : access_name(a) + "[u][k]";
}

/// Where column k finds access `a`, which has one value per column.
std::string ColumnWriter::column_place(std::size_t a) const {
  const AxisClass inner = column_class(a);
  if (!is_iota(a)) return inner == AxisClass::broadcast ? access_name(a) : access_name(a) + "[k]";
  if (inner == AxisClass::broadcast) return pointers_[a];
  if (inner == AxisClass::contiguous) return fmt::format("({} + k)", pointers_[a]);
  return fmt::format("({} + k * {})", pointers_[a], stride(a, static_cast<std::size_t>(kept_ - 1)));
}

}  // namespace kiln::codegen::cuda
