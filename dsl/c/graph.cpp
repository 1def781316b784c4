// dsl/c/graph.cpp -- the functions of kiln_c_graph.h that make values.
#include "dsl/c/graph.h"

#include <cstring>

#include "dsl/c/fault.h"
#include "dsl/c/function.h"
#include "dsl/c/tables.h"

using namespace kiln;
using namespace kiln::dsl::c;

kiln_graph::Live& kiln_graph::live() const {
  if (!live_) {
    auto fresh = std::make_unique<Live>();
    fresh->replay.play(program);
    live_ = std::move(fresh);
  }
  return *live_;
}

kiln_value kiln_graph::add(const Step& step) {
  Live& now = live();
  const std::size_t first = now.replay.size();
  if (first + step.results >= KILN_NO_VALUE) fail<OutOfMemory>("a graph of 2^32 values");
  program.append(step);
  try {
    now.replay.play(step);
  } catch (...) {
    program.drop_last();
    live_.reset();
    throw;
  }
  return static_cast<kiln_value>(first);
}

void kiln_graph::set_name(const char* name) {
  require_name(name, "name");
  program.set_name(name);
}

void kiln_graph::add_output(kiln_value value) {
  values().check(value);
  program.add_output(value);
}

namespace {

std::uint32_t strength_flag(std::int32_t strength) {
  if (strength != KILN_WEAK && strength != KILN_STRONG)
    fail_argument("{} is no strength; they are KILN_WEAK, 0, and KILN_STRONG, 1", strength);
  return strength == KILN_STRONG ? Step::strong : 0;
}

}  // namespace

extern "C" {

kiln_status kiln_graph_create(kiln_graph** graph) noexcept {
  return guarded("kiln_graph_create", [&] {
    require(graph, "graph");
    *graph = make_object<kiln_graph>();
  });
}

void kiln_graph_destroy(kiln_graph* graph) noexcept { destroy_object(graph); }

kiln_status kiln_graph_set_name(kiln_graph* graph, const char* name) noexcept {
  return guarded("kiln_graph_set_name", [&] {
    require(graph, "graph");
    require(name, "name");
    graph->set_name(name);
  });
}

kiln_status kiln_graph_at(kiln_graph* graph, const char* file, int32_t line) noexcept {
  return guarded("kiln_graph_at", [&] {
    require(graph, "graph");
    if (file) require_name(file, "file");  // it becomes part of generated text
    graph->where = {kept_file_name(file), file && line > 0 ? static_cast<unsigned>(line) : 0};
  });
}

kiln_status kiln_graph_input(kiln_graph* graph, int32_t dtype, int32_t rank, kiln_value* result) noexcept {
  return guarded("kiln_graph_input", [&] {
    require(graph, "graph");
    require(result, "result");
    const std::int64_t number = rank;
    *result = graph->add(
        {.kind = StepKind::input, .type = checked_dtype(dtype), .numbers = {&number, 1}, .where = graph->where});
  });
}

kiln_status kiln_graph_scalar(kiln_graph* graph, int32_t dtype, int32_t strength, kiln_value* result) noexcept {
  return guarded("kiln_graph_scalar", [&] {
    require(graph, "graph");
    require(result, "result");
    *result = graph->add({.kind = StepKind::scalar,
                          .type = checked_dtype(dtype),
                          .flags = strength_flag(strength),
                          .where = graph->where});
  });
}

kiln_status kiln_graph_constant(kiln_graph* graph, int32_t dtype, const void* number, int32_t strength,
                                kiln_value* result) noexcept {
  return guarded("kiln_graph_constant", [&] {
    require(graph, "graph");
    require(number, "number");
    require(result, "result");
    std::int64_t bits[2] = {};
    std::memcpy(bits, number, size_of(checked_dtype(dtype)));
    *result = graph->add({.kind = StepKind::constant,
                          .type = checked_dtype(dtype),
                          .flags = strength_flag(strength),
                          .numbers = bits,
                          .where = graph->where});
  });
}

kiln_status kiln_graph_operation(kiln_graph* graph, int32_t operation, const kiln_value* operands,
                                 std::size_t operand_count, kiln_value* result) noexcept {
  return guarded("kiln_graph_operation", [&] {
    require(graph, "graph");
    require(operands, "operands");
    require(result, "result");
    const Op op = op_of(operation);
    require_count(detail::op_info(op), operand_count, graph->where);  // before the operands are read
    *result = graph->add({.kind = StepKind::operation,
                          .code = number_of(op),
                          .operands = {operands, operand_count},
                          .where = graph->where});
  });
}

kiln_status kiln_graph_operation_by_name(kiln_graph* graph, const char* operation, const kiln_value* operands,
                                         std::size_t operand_count, kiln_value* result) noexcept {
  std::int32_t number = 0;
  const kiln_status status = guarded("kiln_graph_operation_by_name", [&] {
    require(operation, "operation");
    const std::optional<Op> op = op_of_name(operation);
    if (!op) fail_argument("there is no operation named '{}'; docs/reference.md lists them", operation);
    number = number_of(*op);
  });
  return status ? status : kiln_graph_operation(graph, number, operands, operand_count, result);
}

kiln_status kiln_graph_call(kiln_graph* graph, const kiln_function* function, const kiln_value* operands,
                            std::size_t operand_count, kiln_value* result) noexcept {
  return guarded("kiln_graph_call", [&] {
    require(graph, "graph");
    require(function, "function");
    require(operands, "operands");
    require(result, "result");
    require_count(*function->function, operand_count, graph->where);
    *result = graph->add({.kind = StepKind::call,
                          .operands = {operands, operand_count},
                          .callee = function->function,
                          .where = graph->where});
  });
}

kiln_status kiln_graph_cast(kiln_graph* graph, kiln_value value, int32_t dtype, kiln_value* result) noexcept {
  return guarded("kiln_graph_cast", [&] {
    require(graph, "graph");
    require(result, "result");
    *result = graph->add(
        {.kind = StepKind::cast, .type = checked_dtype(dtype), .operands = {&value, 1}, .where = graph->where});
  });
}

kiln_status kiln_graph_index(kiln_graph* graph, kiln_value value, int32_t axis, kiln_value* result) noexcept {
  const std::int64_t number = axis;
  return add_step("kiln_graph_index", graph,
                  {.kind = StepKind::index, .operands = {&value, 1}, .numbers = {&number, 1}}, result);
}

kiln_status kiln_graph_extent(kiln_graph* graph, kiln_value value, int32_t axis, kiln_value* result) noexcept {
  const std::int64_t number = axis;
  return add_step("kiln_graph_extent", graph,
                  {.kind = StepKind::extent, .operands = {&value, 1}, .numbers = {&number, 1}}, result);
}

kiln_status kiln_graph_random(kiln_graph* graph, int32_t distribution, int32_t dtype, kiln_value like, kiln_value key,
                              kiln_value* result) noexcept {
  return guarded("kiln_graph_random", [&] {
    require(graph, "graph");
    require(result, "result");
    const kiln_value operands[] = {like, key};
    *result = graph->add({.kind = StepKind::random,
                          .type = checked_dtype(dtype),
                          .code = distribution,
                          .operands = operands,
                          .where = graph->where});
  });
}

kiln_status kiln_graph_output(kiln_graph* graph, kiln_value value) noexcept {
  return guarded("kiln_graph_output", [&] {
    require(graph, "graph");
    graph->add_output(value);
  });
}

}  // extern "C"
