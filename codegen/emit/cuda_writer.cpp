// codegen/emit/cuda_writer.cpp -- the parts of a CUDA kernel that all schedules share: names, arguments, body.
#include "codegen/emit/cuda_writer.h"

#include <algorithm>
#include <unordered_set>

#include "codegen/emit/cuda_expression.h"
#include "codegen/emit/cuda_function.h"
#include "codegen/emit/cuda_reduction.h"
#include "codegen/emit/cuda_types.h"
#include "codegen/emit/cuda_window_form.h"
#include "codegen/emit/entry_name.h"
#include "codegen/emit/shared_products.h"
#include "codegen/schedule/scatter.h"
#include "support/check.h"

namespace kiln::codegen::cuda {

Writer::Writer(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options)
    : kernel_(kernel),
      schedule_(schedule),
      options_(options),
      layout_(argument_layout(kernel)),
      calls_(kernel.body, schedule.vector * schedule.items),
      index_(kernel.index == IndexWidth::bits32 ? "u32" : "u64"),
      step_(kernel.index == IndexWidth::bits32 ? "i32" : "i64"),
      shared_products_(shared_products(kernel, schedule.form)) {
  if ((schedule.form == Template::flat || schedule.form == Template::rows || schedule.form == Template::general) &&
      kernel.rank > 0)
    find_row_gathers(static_cast<std::size_t>(kernel.rank) - 1);
  use_folds();
  if (schedule.form != Template::transpose) return;
  turned_axis_ = turned_axis(kernel);
  turned_ = turned_accesses(kernel, schedule.tile);
}

KernelSource Writer::write() {
  const std::string entry = entry_name();
  const std::string bounds = schedule_.min_blocks > 0 ? fmt::format("{}, {}", schedule_.block, schedule_.min_blocks)
                                                      : fmt::format("{}", schedule_.block);
  open(fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}(const __grid_constant__ Arguments a)", bounds,
                   entry));
  statements();
  close();
  for (std::size_t a = 0; a < kernel_.accesses.size(); ++a) {
    if (is_underaligned(a)) prelude_.use("Complex");
  }
  const std::string kernel_text = std::move(text_);
  const std::string arguments = arguments_struct();

  KernelSource source;
  source.language = Language::cuda;
  const std::string start = header() + prelude_.text() + "\n";
  source.text = start + functions(start, entry) + definitions_ + arguments + "\n" + kernel_text;
  source.entry = entry;
  source.argument_bytes = layout_.size;
  source.max_threads = schedule_.block;
  return source;
}

void Writer::statements() {
  for (std::size_t a = 0; a < kernel_.accesses.size(); ++a)
    if (scatters(a)) define_join(a);
  counts_ = schedule_.bins > 0 && counts_hits(kernel_);
  switch (schedule_.form) {
    case Template::flat:
      schedule_.bins > 0 ? binned() : flat();
      break;
    case Template::rows:
    case Template::general:
      rows();
      break;
    case Template::transpose:
      transpose();
      break;
    case Template::dense:
      dense();
      break;
    default:
      internal_failure("elementwise CUDA schedule", __FILE__, __LINE__, schedule_.key());
  }
}

/// The user's functions that the body calls, behind text `start` of the source.
std::string Writer::functions(const std::string& start, const std::string& entry) const {
  std::string text;
  std::unordered_set<std::string> known;
  auto line = static_cast<std::size_t>(std::count(start.begin(), start.end(), '\n')) + 1;
  for (const auto& function : kernel_.body.functions()) {
    if (function->loop || !known.insert(cuda_namespace(*function)).second) continue;
    const std::string definition = function_definition(*function, line, entry + ".cu");
    line += static_cast<std::size_t>(std::count(definition.begin(), definition.end(), '\n'));
    text += definition;
  }
  return text;
}

std::string Writer::header() const {
  std::string text = "// " + (kernel_.comment.empty() ? entry_name() : kernel_.comment) + "\n";
  std::replace(text.begin(), text.end() - 1, '\n', ' ');
  // A backslash at the end of a comment would continue it.
  std::replace(text.begin(), text.end(), '\\', '/');
  return text + "// schedule: " + schedule_text() + "\n\n";
}

std::string Writer::schedule_text() const {
  static constexpr const char* forms[] = {"flat", "rows", "n-d rows", "transposing tiles", "serial", "dense", "window"};
  std::string text = fmt::format("{}, {} threads per block", forms[static_cast<int>(schedule_.form)], schedule_.block);
  if (schedule_.form == Template::transpose) text += fmt::format(", {0} x {0} tiles", schedule_.tile);
  text += fmt::format(", vectors of {}", schedule_.vector);
  if (schedule_.items > 1) text += fmt::format(", {} per thread", schedule_.items);
  if (schedule_.vector > 1) text += schedule_.whole_vectors ? ", no partial vector" : ", last vector may be partial";
  if (takes_turns()) text += ", blocks take tiles in turn";
  return text;
}

std::string Writer::entry_name() const { return codegen::entry_name(kernel_, schedule_); }

std::string Writer::access_name(std::size_t a) const {
  const std::size_t first = kernel_.first_store();
  return a < first ? fmt::format("x{}", a) : fmt::format("y{}", a - first);
}

std::string Writer::field(ArgumentKind kind, std::size_t a, std::size_t axis) const {
  switch (kind) {
    case ArgumentKind::pointer:
      return fmt::format("a.{}", access_name(a));
    case ArgumentKind::offset:
      return fmt::format("a.{}_start", access_name(a));
    case ArgumentKind::extent:
      return fmt::format("a.n{}", axis);
    case ArgumentKind::stride:
      return fmt::format("a.{}_s{}", access_name(a), axis);
    case ArgumentKind::fold_start:
      return fmt::format("a.{}_f{}", access_name(a), axis);
    case ArgumentKind::fold_step:
      return fmt::format("a.{}_p{}", access_name(a), axis);
    case ArgumentKind::fold_length:
      return fmt::format("a.{}_n{}", access_name(a), axis);
    case ArgumentKind::divisor:
      return fmt::format("a.d{}", axis);
    case ArgumentKind::parameter:
      return fmt::format("a.s{}", a);
    case ArgumentKind::workspace:
      return "a.workspace";
    case ArgumentKind::counters:
      return "a.counters";
    case ArgumentKind::function:
      break;  // of CPU kernels
  }
  internal_failure("known argument kind", __FILE__, __LINE__, "");
}

bool Writer::is_underaligned(std::size_t a) const {
  const Access& access = kernel_.accesses[a];
  return is_complex(access.type) && access.alignment < size_of(access.type);
}

const char* Writer::storage(std::size_t a) const {
  const DType type = kernel_.accesses[a].type;
  if (is_underaligned(a)) return type == DType::c64 ? "Complex<float, float2>" : "Complex<double, double2>";
  return storage_type(type);
}

std::string Writer::arguments_struct() {
  std::string text = "struct Arguments {\n";
  for (const Argument& argument : layout_.arguments) {
    const std::string name = field(argument.kind, argument.a, argument.axis).substr(2);
    std::string declaration;
    switch (argument.kind) {
      case ArgumentKind::pointer:
        declaration = fmt::format("{}{}* {}", is_store(argument.a) ? "" : "const ", storage(argument.a), name);
        break;
      case ArgumentKind::offset:
        declaration = "i64 " + name;
        break;
      case ArgumentKind::extent:
        declaration = index_ + " " + name;
        break;
      case ArgumentKind::stride:
      case ArgumentKind::fold_start:
      case ArgumentKind::fold_step:
      case ArgumentKind::fold_length:
        declaration = step_ + " " + name;
        break;
      case ArgumentKind::divisor:
        declaration = fmt::format("{} {}", prelude_.use("Divisor"), name);
        break;
      case ArgumentKind::workspace:
        declaration = "u8* " + name;
        break;
      case ArgumentKind::counters:
        declaration = "u32* " + name;
        break;
      case ArgumentKind::function:
        break;
      case ArgumentKind::parameter: {
        const DType type = compute_type(kernel_.parameters[argument.a]);
        declaration = is_complex(type) ? fmt::format("{} {}[2]", storage_type(real_of(type)), name)
                                       : fmt::format("{} {}", storage_type(type), name);
        break;
      }
    }
    text += fmt::format("  {};\n", declaration);
  }
  return text + "};\n";
}

AxisClass Writer::inner_class(std::size_t a) const {
  const auto& axes = kernel_.accesses[a].axes;
  return axes.empty() ? AxisClass::broadcast : axes.back();
}

int Writer::access_width(std::size_t a, int limit) const {
  const Access& access = kernel_.accesses[a];
  const int size = static_cast<int>(size_of(access.type));
  if (is_dense_form()) return std::clamp(std::max<int>(access.dense_alignment, size) / size, 1, limit);
  int bytes = std::min<int>(access.alignment, 16);
  for (std::size_t axis = 0; axis + 1 < access.axes.size(); ++axis) {
    if (access.axes[axis] == AxisClass::contiguous) bytes = std::min(bytes, size);
  }
  return std::clamp(bytes / size, 1, limit);
}

bool Writer::rounds(std::size_t a) const {
  const Node& node = kernel_.body[kernel_.body.outputs[a - kernel_.first_store()]];
  return node.kind == NodeKind::cast && (node.type == DType::f16 || node.type == DType::bf16) &&
         kernel_.body[node.operands[0]].type == DType::f32;
}

void Writer::line_directive(const Graph& graph, NodeId id) {
  const Location where = graph.location(id);
  if (!options_.lineinfo || where.file == nullptr) return;
  text_ += fmt::format("#line {} \"{}\"\n", where.line, where.file);
}

std::string Writer::value_text(const Graph& graph, NodeId id, const std::vector<std::string>& names) {
  if (graph[id].kind == NodeKind::gather) return gather_text(graph, id, names);
  std::vector<std::string> operands;
  std::vector<DType> types;
  for (const NodeId operand : graph[id].inputs()) {
    operands.push_back(names[operand]);
    types.push_back(graph[operand].type);
  }
  if (graph[id].kind == NodeKind::call) {
    const Function& function = graph.function(graph[id]);
    return function.loop ? fmt::format("{}.s{}", loop_call(function, operands), function.component)
                         : call_text(function, operands);
  }
  if (&graph == &kernel_.body && options_.contract && shared_products_[id])
    return fmt::format("{}({}, {})", graph[id].type == DType::f64 ? "__dmul_rn" : "__fmul_rn", operands[0],
                       operands[1]);
  const std::string call = calls_.text(graph, id, operands, types, prelude_, definitions_);
  return call.empty() ? expression(graph[id], operands, types, prelude_) : call;
}

bool Writer::declare_node(const Graph& graph, NodeId id, std::vector<std::string>& names, const std::string& local) {
  line_directive(graph, id);
  std::string value = value_text(graph, id, names);
  const Node& node = graph[id];
  if (node.kind == NodeKind::call && graph.function(node).loop) {
    const std::size_t dot = value.rfind('.');
    value = loop_states(value.substr(0, dot), local) + value.substr(dot);
  }
  line("const {} {} = {};", value_type(node.type), local, value);
  names[id] = local;
  return true;
}

bool Writer::name_node(const Graph& graph, NodeId id, std::vector<std::string>& names, const std::string& local,
                       const std::function<std::string(std::size_t)>& element) {
  const Node& node = graph[id];
  const auto slot = static_cast<std::size_t>(node.payload);
  switch (node.kind) {
    case NodeKind::load:
    case NodeKind::iota:
      names[id] = element(slot);
      break;
    case NodeKind::literal:
      names[id] = literal(node.type, node.payload);
      return false;
    case NodeKind::gather:
      if (!row_gather_names_.contains(id)) return declare_node(graph, id, names, local);
      names[id] = row_gather_names_.at(id);
      break;
    case NodeKind::parameter:
      names[id] = field(ArgumentKind::parameter, slot);
      break;
    default:
      return declare_node(graph, id, names, local);
  }
  if (node.type == DType::b1) names[id] = fmt::format("({} != 0)", names[id]);
  if (node.kind == NodeKind::parameter && is_complex(node.type))
    names[id] = fmt::format("{0}({1}[0], {1}[1])", node.type == DType::c64 ? "make_float2" : "make_double2", names[id]);
  return false;
}

void Writer::body(const std::function<std::string(std::size_t)>& element) {
  const Graph& graph = kernel_.body;
  std::vector<std::string> names(graph.size());
  std::vector<char> needed(graph.size(), 0);
  const std::size_t first = kernel_.first_store();
  for (std::size_t o = 0; o < graph.outputs.size(); ++o) {
    const NodeId id = graph.outputs[o];
    if (is_counted(first + o)) continue;
    needed[rounds(first + o) ? graph[id].operands[0] : id] = 1;
  }
  for (NodeId id = graph.size(); id-- > 0;) {
    if (!needed[id] || row_gather_names_.contains(id)) continue;
    for (const NodeId operand : graph[id].inputs()) needed[operand] = 1;
  }
  int next = 0;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (needed[id] && name_node(graph, id, names, fmt::format("v{}", next), element)) ++next;
  }
  for (std::size_t o = 0; o < graph.outputs.size(); ++o) {
    const NodeId id = graph.outputs[o];
    if (is_counted(first + o)) continue;
    const NodeId value = rounds(first + o) ? graph[id].operands[0] : id;
    line("{} = {};", element(first + o), names[value]);
  }
}

}  // namespace kiln::codegen::cuda

namespace kiln::codegen {

KernelSource emit_cuda(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options) {
  if (schedule.form == Template::scan) return cuda::emit_scan(kernel, schedule, options);
  if (schedule.form == Template::column_reduction) return cuda::emit_column_reduction(kernel, schedule, options);
  if (schedule.form == Template::row_reduction) return cuda::emit_row_reduction(kernel, schedule, options);
  if (schedule.form == Template::window) return cuda::emit_window(kernel, schedule, options);
  return cuda::Writer(kernel, schedule, options).write();
}

}  // namespace kiln::codegen
