// dsl/c/graph_info.cpp -- what a graph of the C interface tells about itself and its operations.
#include <cstring>

#include "dsl/c/graph.h"
#include "dsl/c/tables.h"

using namespace kiln;
using namespace kiln::dsl::c;

namespace {

/// The value of step number `number` of a kind.
kiln_status find_step(const char* function, const kiln_graph* graph, StepKind kind, std::size_t number,
                      kiln_value* value) noexcept {
  return guarded(function, [&] {
    require(graph, "graph");
    require(value, "value");
    kiln_value first = 0;
    std::size_t found = 0;
    for (std::size_t i = 0; i < graph->program.size(); ++i) {
      const Step step = graph->program[i];
      if (step.kind == kind && found++ == number) {
        *value = first;
        return;
      }
      first += step.results;
    }
    fail_argument("number {} of {}", number, found);
  });
}

kiln_graph* read_graph(const char* text, std::size_t length, const kiln_function* const* functions,
                       std::size_t function_count, kiln_graph* const* result) {
  require(text, "text");
  require(result, "graph");
  constexpr std::size_t most_functions = 65536;
  require_list(static_cast<const void*>(functions), function_count, most_functions, "functions");
  for (std::size_t i = 0; i < function_count; ++i) require(functions[i], "a function");
  if (length != SIZE_MAX && length > PTRDIFF_MAX) fail_argument("the text has {} bytes, which no text has", length);
  const std::string_view all(text, length == SIZE_MAX ? std::strlen(text) : length);
  kiln_graph* const made = make_object<kiln_graph>();
  try {
    parse_into(*made, all, {functions, function_count});
  } catch (...) {
    destroy_object(made);
    throw;
  }
  return made;
}

}  // namespace

extern "C" {

kiln_status kiln_graph_get_info(const kiln_graph* graph, kiln_graph_info* info) noexcept {
  return guarded("kiln_graph_get_info", [&] {
    require(graph, "graph");
    require_writable(info, "info");
    kiln_graph_info found{sizeof *info, graph->values().size(), 0, 0, graph->program.outputs().size()};
    for (std::size_t i = 0; i < graph->program.size(); ++i) {
      found.inputs += graph->program[i].kind == StepKind::input;
      found.scalars += graph->program[i].kind == StepKind::scalar;
    }
    found.struct_size = info->struct_size;
    *info = found;
  });
}

kiln_status kiln_graph_get_value(const kiln_graph* graph, kiln_value value, kiln_value_info* info) noexcept {
  return guarded("kiln_graph_get_value", [&] {
    require(graph, "graph");
    require_writable(info, "info");
    const Replay& values = graph->values();
    values.check(value);
    info->dtype = static_cast<std::int32_t>(values.type(value));
    info->rank = values.rank(value);
    info->is_weak = values.is_weak(value);
  });
}

kiln_status kiln_graph_get_input(const kiln_graph* graph, std::size_t number, kiln_value* value) noexcept {
  return find_step("kiln_graph_get_input", graph, StepKind::input, number, value);
}

kiln_status kiln_graph_get_scalar(const kiln_graph* graph, std::size_t number, kiln_value* value) noexcept {
  return find_step("kiln_graph_get_scalar", graph, StepKind::scalar, number, value);
}

kiln_status kiln_graph_get_output(const kiln_graph* graph, std::size_t number, kiln_value* value) noexcept {
  return guarded("kiln_graph_get_output", [&] {
    require(graph, "graph");
    require(value, "value");
    const auto outputs = graph->program.outputs();
    if (number >= outputs.size()) fail_argument("output {} of {}", number, outputs.size());
    *value = outputs[number];
  });
}

std::size_t kiln_operation_count(void) noexcept { return op_count; }

kiln_status kiln_operation_at(std::size_t position, kiln_operation_info* info) noexcept {
  return guarded("kiln_operation_at", [&] {
    require_writable(info, "info");
    if (position >= op_count) fail_argument("operation {} of {}", position, op_count);
    const Op op = static_cast<Op>(position);
    const detail::OpInfo& row = detail::op_info(op);
    info->operation = number_of(op);
    info->operands = row.arity;
    info->name = row.name;
    info->description = row.doc;
  });
}

kiln_status kiln_graph_text(const kiln_graph* graph, char* buffer, std::size_t capacity, std::size_t* length) noexcept {
  return guarded("kiln_graph_text", [&] {
    require(graph, "graph");
    if (capacity > 0) require(buffer, "buffer");
    const std::string text = text_of(graph->program);
    if (length) *length = text.size();
    if (capacity > text.size()) {
      std::memcpy(buffer, text.c_str(), text.size() + 1);
      return;
    }
    if (capacity > 0) buffer[0] = 0;
    throw Fault(KILN_ERROR_BUFFER,
                fmt::format("the text has {} bytes and a null; there is room for {}", text.size(), capacity));
  });
}

kiln_status kiln_graph_parse(const char* text, std::size_t length, kiln_graph** graph) noexcept {
  return guarded("kiln_graph_parse", [&] { *graph = read_graph(text, length, nullptr, 0, graph); });
}

kiln_status kiln_graph_parse_with(const char* text, std::size_t length, const kiln_function* const* functions,
                                  std::size_t function_count, kiln_graph** graph) noexcept {
  return guarded("kiln_graph_parse_with", [&] { *graph = read_graph(text, length, functions, function_count, graph); });
}

}  // extern "C"
