// dsl/c/graph_axes.cpp -- the functions of kiln_c_graph.h that name axes: reductions, scans, takes, shifts and views.
#include <array>
#include <cstring>

#include "dsl/c/graph.h"
#include "dsl/c/tables.h"

using namespace kiln;
using namespace kiln::dsl::c;

namespace {

/// A call whose axes, given as int32_t, are the numbers of its step.
kiln_status add_view(const char* function, StepKind kind, kiln_graph* graph, kiln_value value, const int32_t* axes,
                     std::size_t count, kiln_value* result) noexcept {
  return guarded(function, [&] {
    require(graph, "graph");
    require(result, "result");
    if (count > 0) require(axes, "axes");
    if (count > KILN_MAX_RANK) fail<ShapeError>("{} axes; values have at most {}", count, KILN_MAX_RANK);
    std::array<std::int64_t, KILN_MAX_RANK> numbers{};
    for (std::size_t i = 0; i < count; ++i) numbers[i] = axes[i];
    *result =
        graph->add({.kind = kind, .operands = {&value, 1}, .numbers = {numbers.data(), count}, .where = graph->where});
  });
}

kiln_status add_extents(const char* function, StepKind kind, kiln_graph* graph, kiln_value value,
                        const int64_t* numbers, std::size_t count, kiln_value* result) noexcept {
  return guarded(function, [&] {
    require(graph, "graph");
    require(result, "result");
    if (count > 0) require(numbers, "the list of extents");
    if (count > KILN_MAX_RANK) fail<ShapeError>("{} extents; values have at most {} axes", count, KILN_MAX_RANK);
    *result = graph->add({.kind = kind, .operands = {&value, 1}, .numbers = {numbers, count}, .where = graph->where});
  });
}

/// The numbers and flags of a reduction's options: ddof, then the axes.
class ReduceOptions {
 public:
  ReduceOptions(const kiln_reduce_options* options, Step& step) {
    numbers_[0] = 0;
    if (options) read(*options, step);
    step.numbers = {numbers_.data(), 1 + count_};
  }

 private:
  void read(const kiln_reduce_options& options, Step& step) {
    require_known(&options, "options");
    require_zero(options.reserved, "options->reserved");
    numbers_[0] = options.ddof;
    if (flag(options.keepdims, "options->keepdims")) step.flags |= Step::keepdims;
    if (flag(options.uses_accumulate, "options->uses_accumulate")) {
      step.flags |= Step::accumulates;
      step.type = checked_dtype(options.accumulate);
    }
    if (!options.axes && options.axis_count > 0) fail_argument("options->axes is null for {} axes", options.axis_count);
    if (options.axis_count > KILN_MAX_RANK)
      fail<ShapeError>("{} axes; values have at most {}", options.axis_count, KILN_MAX_RANK);
    if (options.axes) step.flags |= Step::named;
    count_ = options.axis_count;
    for (std::size_t i = 0; i < count_; ++i) numbers_[1 + i] = options.axes[i];
  }
  std::array<std::int64_t, KILN_MAX_RANK + 1> numbers_{};
  std::size_t count_ = 0;
};

/// Values, then identities, and a copy of the function.
void add_join(Step step, kiln_graph* graph, const kiln_graph* joining, const kiln_value* values,
              const kiln_value* identities, std::size_t count, kiln_value* results) {
  require(graph, "graph");
  require(joining, "function");
  require(values, "values");
  require(identities, "identities");
  require(results, "results");
  if (count < 1 || count > 3) fail_argument("{} values cannot be joined: one to three can", count);
  std::array<kiln_value, 6> operands{};
  for (std::size_t i = 0; i < count; ++i) operands[i] = values[i], operands[count + i] = identities[i];
  step.operands = {operands.data(), 2 * count};
  step.results = static_cast<std::uint32_t>(count);
  step.function = std::allocate_shared<const Program>(HostAllocator<Program>(graph->memory), joining->program);
  step.where = graph->where;
  const kiln_value first = graph->add(step);
  for (std::size_t i = 0; i < count; ++i) results[i] = first + static_cast<kiln_value>(i);
}

}  // namespace

extern "C" {

kiln_status kiln_graph_reduce(kiln_graph* graph, int32_t reduction, kiln_value value,
                              const kiln_reduce_options* options, kiln_value* result) noexcept {
  return guarded("kiln_graph_reduce", [&] {
    require(graph, "graph");
    require(result, "result");
    Step step{.kind = StepKind::reduce, .code = reduction, .operands = {&value, 1}, .where = graph->where};
    const ReduceOptions read(options, step);
    *result = graph->add(step);
  });
}

kiln_status kiln_graph_scan(kiln_graph* graph, int32_t scan, kiln_value value, int32_t axis,
                            kiln_value* result) noexcept {
  const std::int64_t number = axis;
  return add_step("kiln_graph_scan", graph,
                  {.kind = StepKind::scan, .code = scan, .operands = {&value, 1}, .numbers = {&number, 1}}, result);
}

kiln_status kiln_graph_reduce_by(kiln_graph* graph, const kiln_graph* function, const kiln_value* values,
                                 const kiln_value* identities, std::size_t count, const kiln_reduce_options* options,
                                 kiln_value* results) noexcept {
  return guarded("kiln_graph_reduce_by", [&] {
    Step step{.kind = StepKind::reduce_by};
    const ReduceOptions read(options, step);
    if (step.flags & Step::accumulates || step.numbers[0] != 0)
      fail_argument("a reduction by a function takes neither accumulate nor ddof");
    add_join(step, graph, function, values, identities, count, results);
  });
}

kiln_status kiln_graph_scan_by(kiln_graph* graph, const kiln_graph* function, const kiln_value* values,
                               const kiln_value* identities, std::size_t count, int32_t axis,
                               kiln_value* results) noexcept {
  const std::int64_t number = axis;
  return guarded("kiln_graph_scan_by", [&] {
    add_join({.kind = StepKind::scan_by, .numbers = {&number, 1}}, graph, function, values, identities, count, results);
  });
}

kiln_status kiln_graph_take(kiln_graph* graph, int32_t kind, kiln_value source, kiln_value indices, int32_t axis,
                            int32_t outside, kiln_value* result) noexcept {
  const kiln_value operands[] = {source, indices};
  const std::int64_t number = kind == KILN_TAKE_flat ? 0 : axis;
  return add_step("kiln_graph_take", graph,
                  {.kind = StepKind::take,
                   .code = kind,
                   .flags = static_cast<std::uint32_t>(outside),
                   .operands = operands,
                   .numbers = {&number, 1}},
                  result);
}

kiln_status kiln_graph_shift(kiln_graph* graph, kiln_value value, const int64_t* by, std::size_t count, int32_t beyond,
                             kiln_value fill, kiln_value* result) noexcept {
  return guarded("kiln_graph_shift", [&] {
    require(graph, "graph");
    require(result, "result");
    if (count > 0) require(by, "by");
    if (count > KILN_MAX_RANK) fail<ShapeError>("{} displacements; values have at most {} axes", count, KILN_MAX_RANK);
    const kiln_value operands[] = {value, fill};
    *result = graph->add({.kind = StepKind::shift,
                          .code = beyond,
                          .operands = {operands, fill == KILN_NO_VALUE ? 1u : 2u},
                          .numbers = {by, count},
                          .where = graph->where});
  });
}

kiln_status kiln_graph_transpose(kiln_graph* graph, kiln_value value, const int32_t* axes, std::size_t count,
                                 kiln_value* result) noexcept {
  return add_view("kiln_graph_transpose", StepKind::transpose, graph, value, axes, count, result);
}
kiln_status kiln_graph_squeeze(kiln_graph* graph, kiln_value value, const int32_t* axes, std::size_t count,
                               kiln_value* result) noexcept {
  return add_view("kiln_graph_squeeze", StepKind::squeeze, graph, value, axes, count, result);
}
kiln_status kiln_graph_unsqueeze(kiln_graph* graph, kiln_value value, const int32_t* axes, std::size_t count,
                                 kiln_value* result) noexcept {
  return add_view("kiln_graph_unsqueeze", StepKind::unsqueeze, graph, value, axes, count, result);
}
kiln_status kiln_graph_flip(kiln_graph* graph, kiln_value value, const int32_t* axes, std::size_t count,
                            kiln_value* result) noexcept {
  return add_view("kiln_graph_flip", StepKind::flip, graph, value, axes, count, result);
}
kiln_status kiln_graph_reshape(kiln_graph* graph, kiln_value value, const int64_t* shape, std::size_t rank,
                               kiln_value* result) noexcept {
  return add_extents("kiln_graph_reshape", StepKind::reshape, graph, value, shape, rank, result);
}
kiln_status kiln_graph_broadcast_to(kiln_graph* graph, kiln_value value, const int64_t* shape, std::size_t rank,
                                    kiln_value* result) noexcept {
  return add_extents("kiln_graph_broadcast_to", StepKind::broadcast_to, graph, value, shape, rank, result);
}

kiln_status kiln_graph_slice(kiln_graph* graph, kiln_value value, const kiln_slice* items, std::size_t count,
                             kiln_value* result) noexcept {
  return guarded("kiln_graph_slice", [&] {
    require(graph, "graph");
    require(result, "result");
    if (count > 0) require(items, "items");
    if (count > KILN_MAX_RANK) fail<ShapeError>("{} items; values have at most {} axes", count, KILN_MAX_RANK);
    std::array<std::int64_t, 4 * KILN_MAX_RANK> numbers{};
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t item[] = {items[i].flags, items[i].start, items[i].stop, items[i].step};
      std::memcpy(&numbers[4 * i], item, sizeof item);
    }
    *result = graph->add({.kind = StepKind::slice,
                          .operands = {&value, 1},
                          .numbers = {numbers.data(), 4 * count},
                          .where = graph->where});
  });
}

}  // extern "C"
