// tests/fuzz/execute_c.cpp -- runs a call of a program through the C interface: node by node, as text and back, launch.
#include <cstring>
#include <memory>
#include <stdexcept>

#include <fmt/format.h>

#include <kiln/kiln_c.h>

#include "tests/fuzz/combiners.h"
#include "tests/fuzz/execute_c.h"
#include "tests/fuzz/execute_reductions.h"

namespace fuzz {
namespace {

void ok(kiln_status status) {
  if (status != KILN_OK) throw std::runtime_error(fmt::format("{}: {}", kiln_status_name(status), kiln_last_error()));
}

struct Destroy {
  void operator()(kiln_graph* graph) const { kiln_graph_destroy(graph); }
  void operator()(kiln_kernel* kernel) const { kiln_kernel_destroy(kernel); }
};
using Graph = std::unique_ptr<kiln_graph, Destroy>;
using Kernel = std::unique_ptr<kiln_kernel, Destroy>;

std::vector<std::int32_t> axes_of(const std::vector<std::int64_t>& numbers) { return {numbers.begin(), numbers.end()}; }

kiln_value add_view(kiln_graph* graph, const View& view, const std::vector<kiln_value>& from) {
  kiln_value result = 0;
  const std::vector<std::int32_t> axes = axes_of(view.numbers);
  const std::size_t count = view.numbers.size();
  switch (view.kind) {
    case ViewKind::transpose:
      ok(kiln_graph_transpose(graph, from[0], axes.data(), count, &result));
      break;
    case ViewKind::reshape:
      ok(kiln_graph_reshape(graph, from[0], view.numbers.data(), count, &result));
      break;
    case ViewKind::broadcast_to:
      ok(kiln_graph_broadcast_to(graph, from[0], view.numbers.data(), count, &result));
      break;
    case ViewKind::squeeze:
      ok(kiln_graph_squeeze(graph, from[0], axes.data(), count, &result));
      break;
    case ViewKind::unsqueeze:
      ok(kiln_graph_unsqueeze(graph, from[0], axes.data(), count, &result));
      break;
    case ViewKind::flip:
      ok(kiln_graph_flip(graph, from[0], axes.data(), count, &result));
      break;
    case ViewKind::slice: {
      std::vector<kiln_slice> items;
      for (std::size_t i = 0; i < count; i += 4)
        items.push_back({view.numbers[i], view.numbers[i + 1], view.numbers[i + 2], view.numbers[i + 3]});
      ok(kiln_graph_slice(graph, from[0], items.data(), items.size(), &result));
      break;
    }
    case ViewKind::shift:
      ok(kiln_graph_shift(graph, from[0], view.numbers.data() + 1, count - 1,
                          static_cast<std::int32_t>(view.numbers[0]) + KILN_BEYOND_clamp,
                          from.size() > 1 ? from[1] : KILN_NO_VALUE, &result));
      break;
  }
  return result;
}

std::int32_t number_of(DType type) { return static_cast<std::int32_t>(type); }

/// The user's function as a graph of its own.
Graph function_of(const Combiner& combiner, const std::vector<DType>& types) {
  kiln_graph* made = nullptr;
  ok(kiln_graph_create(&made));
  Graph graph(made);
  std::vector<kiln_value> values;
  for (std::size_t i = 0; i < 2 * types.size(); ++i) {
    values.emplace_back();
    ok(kiln_graph_input(made, number_of(types[i % types.size()]), 0, &values.back()));
  }
  for (const JoiningStep& step : combiner.steps) {
    std::vector<kiln_value> from;
    for (const int input : step.inputs) from.push_back(values[static_cast<std::size_t>(input)]);
    kiln_operation_info info{};
    info.struct_size = sizeof info;
    ok(kiln_operation_at(static_cast<std::size_t>(step.op), &info));
    values.emplace_back();
    ok(kiln_graph_operation(made, info.operation, from.data(), from.size(), &values.back()));
  }
  for (const int output : combiner.outputs) ok(kiln_graph_output(made, values[static_cast<std::size_t>(output)]));
  return graph;
}

kiln_value add_joining(kiln_graph* graph, const Program& program, const Node& node, const std::vector<kiln_value>& from,
                       const kiln_reduce_options& options, std::int32_t axis) {
  std::vector<DType> types;
  std::vector<kiln_value> identities, results(from.size());
  for (std::size_t k = 0; k < from.size(); ++k) {
    types.push_back(program.nodes[static_cast<std::size_t>(node.inputs[k])].type);
    const std::uint64_t bits[2] = {identity_bits(node.joining, static_cast<int>(k), types[k]), 0};
    identities.emplace_back();
    ok(kiln_graph_constant(graph, number_of(types[k]), bits, KILN_STRONG, &identities.back()));
  }
  const Graph function = function_of(combiner_of(node.joining), types);
  if (node.kind == NodeKind::scan)
    ok(kiln_graph_scan_by(graph, function.get(), from.data(), identities.data(), from.size(), axis, results.data()));
  else
    ok(kiln_graph_reduce_by(graph, function.get(), from.data(), identities.data(), from.size(), &options,
                            results.data()));
  return results[static_cast<std::size_t>(node.component)];
}

kiln_value add_reduction(kiln_graph* graph, const Program& program, const Node& node,
                         const std::vector<kiln_value>& from) {
  kiln_value result = 0;
  const std::vector<std::int64_t> written = written_axes(program, node);
  const std::vector<std::int32_t> axes(written.begin(), written.end());
  const auto function = static_cast<std::int32_t>(node.function);
  const std::int32_t none = 0;
  kiln_reduce_options options{};
  options.struct_size = sizeof options;
  options.axes = node.unnamed ? nullptr : axes.empty() ? &none : axes.data();
  options.axis_count = node.unnamed ? 0 : axes.size();
  options.keepdims = node.keepdims;
  if (node.joining != Joining::none)
    return add_joining(graph, program, node, from, options, axes.empty() ? 0 : axes[0]);
  if (node.kind == NodeKind::scan) {
    ok(kiln_graph_scan(graph, KILN_SCAN_cumsum + function, from[0], axes[0], &result));
    return result;
  }
  const bool divides = node.function == Function::var || node.function == Function::std_;
  options.ddof = divides ? node.ddof : 0;
  options.accumulate = number_of(node.type);
  options.uses_accumulate = node.accumulates;
  ok(kiln_graph_reduce(graph, KILN_REDUCE_sum + function, from[0], &options, &result));
  return result;
}

/// Operands and scalars come in the order of their slots.
kiln_value add_node(kiln_graph* graph, const Program& program, const Node& node, const std::vector<kiln_value>& slots,
                    const std::vector<kiln_value>& done) {
  std::vector<kiln_value> from;
  for (const int input : node.inputs) from.push_back(done[static_cast<std::size_t>(input)]);
  kiln_value result = 0;
  switch (node.kind) {
    case NodeKind::operand:
      return slots[static_cast<std::size_t>(node.slot)];
    case NodeKind::scalar:
      ok(kiln_graph_scalar(graph, number_of(node.type), KILN_STRONG, &result));
      break;
    case NodeKind::literal: {
      const std::uint64_t bits[2] = {literal_bits(node), 0};
      ok(kiln_graph_constant(graph, number_of(node.type), bits, KILN_STRONG, &result));
      break;
    }
    case NodeKind::operation: {
      kiln_operation_info info{};
      info.struct_size = sizeof info;
      ok(kiln_operation_at(static_cast<std::size_t>(node.op), &info));
      if (node.inputs.size() % 2 == 0) {
        ok(kiln_graph_operation_by_name(graph, info.name, from.data(), from.size(), &result));
      } else {
        ok(kiln_graph_operation(graph, info.operation, from.data(), from.size(), &result));
      }
      break;
    }
    case NodeKind::cast:
      ok(kiln_graph_cast(graph, from[0], number_of(node.type), &result));
      break;
    case NodeKind::view:
      return add_view(graph, node.view, from);
    case NodeKind::index:
      ok(kiln_graph_index(graph, from[0], node.axes[0], &result));
      break;
    case NodeKind::reduce:
    case NodeKind::scan:
      return add_reduction(graph, program, node, from);
    case NodeKind::take:
      ok(kiln_graph_take(graph, KILN_TAKE_axis, from[0], from[1], node.axes[0], KILN_OUTSIDE_missing + node.mode,
                         &result));
      break;
  }
  return result;
}

Graph graph_of(const Program& program) {
  kiln_graph* made = nullptr;
  ok(kiln_graph_create(&made));
  Graph graph(made);
  std::vector<kiln_value> slots, values;
  for (const Operand& operand : program.operands) {
    kiln_value value = 0;
    ok(kiln_graph_input(made, number_of(operand.type), static_cast<std::int32_t>(operand.shape.size()), &value));
    slots.push_back(value);
  }
  for (const Node& node : program.nodes) {
    values.push_back(add_node(made, program, node, slots, values));
    kiln_value_info info{};
    info.struct_size = sizeof info;
    ok(kiln_graph_get_value(made, values.back(), &info));
    if (info.dtype != number_of(node.type) || info.rank != static_cast<std::int32_t>(node.shape.size()))
      throw std::runtime_error(
          fmt::format("value {} has type {} and rank {}", values.size() - 1, info.dtype, info.rank));
  }
  for (const Output& output : program.outputs)
    ok(kiln_graph_output(made, values[static_cast<std::size_t>(output.node)]));
  return graph;
}

std::string text_of(const kiln_graph* graph) {
  std::size_t length = 0;
  if (kiln_graph_text(graph, nullptr, 0, &length) != KILN_ERROR_BUFFER) throw std::runtime_error("a text of no bytes");
  std::string text(length, ' ');
  ok(kiln_graph_text(graph, text.data(), length + 1, &length));
  return text;
}

/// The graph as its text says it; reading and printing again must give the same.
Graph through_text(const Graph& graph) {
  const std::string text = text_of(graph.get());
  kiln_graph* read = nullptr;
  ok(kiln_graph_parse(text.data(), text.size(), &read));
  Graph result(read);
  if (text_of(read) != text) throw std::runtime_error("the text of the graph that was read differs:\n" + text);
  return result;
}

struct Tensor {
  kiln_dl_tensor tensor{};
  explicit Tensor(const kiln::detail::Handle& handle) {
    const kiln::detail::Layout& layout = *handle.layout;
    constexpr std::uint8_t codes[] = {KILN_DL_BOOL,   KILN_DL_INT,   KILN_DL_INT,   KILN_DL_INT,     KILN_DL_INT,
                                      KILN_DL_UINT,   KILN_DL_UINT,  KILN_DL_UINT,  KILN_DL_UINT,    KILN_DL_FLOAT,
                                      KILN_DL_BFLOAT, KILN_DL_FLOAT, KILN_DL_FLOAT, KILN_DL_COMPLEX, KILN_DL_COMPLEX};
    tensor.data = handle.data;
    tensor.device = {layout.device_kind == 0 ? KILN_DL_CPU : KILN_DL_CUDA, layout.device_index};
    tensor.ndim = layout.rank;
    tensor.dtype = {codes[static_cast<int>(layout.dtype)], static_cast<std::uint8_t>(8 * kiln::size_of(layout.dtype)),
                    1};
    tensor.shape = const_cast<std::int64_t*>(layout.shape);
    tensor.strides = const_cast<std::int64_t*>(layout.strides);
  }
};

std::vector<const kiln_dl_tensor*> pointers(const std::vector<Tensor>& tensors) {
  std::vector<const kiln_dl_tensor*> result;
  for (const Tensor& tensor : tensors) result.push_back(&tensor.tensor);
  return result;
}

}  // namespace

void execute_through_c(const Program& program, const kiln::detail::Call& call) {
  const Graph graph = through_text(graph_of(program));
  kiln_kernel* made = nullptr;
  ok(kiln_kernel_create(graph.get(), nullptr, &made));
  const Kernel kernel(made);
  std::vector<Tensor> inputs, outputs;
  for (unsigned i = 0; i < call.input_count; ++i) inputs.emplace_back(call.inputs[i]);
  for (unsigned i = 0; i < call.target_count; ++i) {
    kiln::detail::Handle& handle = *call.targets[i].handle;
    const Node& node = program.nodes[static_cast<std::size_t>(program.outputs[i].node)];
    if (!handle.layout)
      handle = kiln::detail::allocate(node.type, node.shape.data(), static_cast<int>(node.shape.size()));
    outputs.emplace_back(handle);
  }
  std::vector<std::uint64_t> numbers;
  for (const Node& node : program.nodes)
    if (node.kind == NodeKind::scalar) numbers.push_back(literal_bits(node));
  std::vector<const void*> scalars;
  for (const std::uint64_t& number : numbers) scalars.push_back(&number);
  const auto from = pointers(inputs), to = pointers(outputs);
  const kiln_status status =
      kiln_launch(made, nullptr, from.data(), from.size(), scalars.data(), scalars.size(), to.data(), to.size());
  if (status == KILN_ERROR_SHAPE && std::strstr(kiln_last_error(), "reshape")) throw RefusedReshape{};
  ok(status);
}

}  // namespace fuzz
