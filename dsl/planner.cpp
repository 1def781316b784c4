// dsl/planner.cpp -- adds compiled code and argument blocks to a draft.
#include <algorithm>
#include <cstring>

#include <kiln/error.h>

#include "codegen/schedule/divisor.h"
#include "dsl/compile_places.h"
#include "dsl/convert.h"
#include "dsl/planner.h"
#include "dsl/tuner.h"
#include "dsl/tuning_jobs.h"
#include "support/log.h"

namespace kiln::dsl {
namespace {

using codegen::Argument;
using codegen::ArgumentKind;

template <class T>
void put(Launch& launch, std::uint32_t at, T value) {
  // NOLINTNEXTLINE(bugprone-sizeof-expression): a pointer is stored as it is
  std::memcpy(launch.image.data() + at, &value, sizeof(T));
}

void put_index(Launch& launch, const Argument& argument, std::int64_t value) {
  if (argument.size == 4)
    put(launch, argument.offset, static_cast<std::int32_t>(value));
  else
    put(launch, argument.offset, value);
}

/// A number that follows from the shapes, which the plan's key holds. Types that compute in f32 take it unrounded.
void put_constant(Launch& launch, std::uint32_t at, const Parameter& parameter, const detail::Call& call) {
  detail::ScalarArgument number;
  number.type = DType::i64;
  std::memcpy(number.bytes, &parameter.value, sizeof parameter.value);
  if (!convert_scalar(number, compute_type(parameter.type), launch.image.data() + at))
    fail_conversion("", number, parameter.type, call.where);
}

std::int64_t base_offset(const LoopNest::Walk& walk) { return unfolded_offset(walk.offset, walk.folds); }

std::int64_t fold_number(const auto& fold, ArgumentKind kind) {
  if (kind == ArgumentKind::fold_start) return fold.start;
  return kind == ArgumentKind::fold_step ? fold.step : fold.length;
}

/// The host version of a user's function, which the plan keeps alive.
void put_function(Launch& launch, const codegen::Kernel& kernel, const Argument& argument) {
  const std::shared_ptr<const codegen::Function>& function = kernel.body.functions()[argument.a];
  launch.functions.push_back(function);
  put(launch, argument.offset, &function->host);
}

void put_divisor(Launch& launch, const Argument& argument, std::int64_t axis_extent) {
  // Nothing is divided by the extent of an empty axis.
  const auto extent = static_cast<std::uint32_t>(std::max<std::int64_t>(1, axis_extent));
  const codegen::Divisor divisor = codegen::divisor_of(extent);
  put(launch, argument.offset, divisor.multiplier);
  put(launch, argument.offset + 4, divisor.shift);
}

void add_argument(Launch& launch, const DraftKernel& draft, const Argument& argument, const detail::Call& call) {
  const LoopNest& nest = draft.nest;
  switch (argument.kind) {
    case ArgumentKind::pointer: {
      const auto bytes = static_cast<std::int64_t>(size_of(draft.kernel.accesses[argument.a].type));
      launch.pointers.push_back(
          {argument.offset, draft.bases[argument.a].number, base_offset(nest.walks[argument.a]) * bytes});
      return;
    }
    case ArgumentKind::offset:
      if (draft.bases[argument.a].constant)
        put(launch, argument.offset, base_offset(nest.walks[argument.a]));
      else
        launch.offsets.push_back(
            {argument.offset, draft.bases[argument.a].number, base_offset(nest.walks[argument.a])});
      return;
    case ArgumentKind::extent:
      put_index(launch, argument, nest.shape.extents[argument.axis]);
      return;
    case ArgumentKind::stride:
      put_index(launch, argument, nest.walks[argument.a].step(argument.axis));
      return;
    case ArgumentKind::fold_start:
    case ArgumentKind::fold_step:
    case ArgumentKind::fold_length:
      put_index(launch, argument, fold_number(nest.walks[argument.a].folds[argument.axis], argument.kind));
      return;
    case ArgumentKind::divisor:
      put_divisor(launch, argument, nest.shape.extents[argument.axis]);
      return;
    case ArgumentKind::workspace:
      return;  // share_workspace()
    case ArgumentKind::counters:
      launch.counters_at = argument.offset;
      return;
    case ArgumentKind::function:
      put_function(launch, draft.kernel, argument);
      return;
    case ArgumentKind::parameter: {
      const Parameter& parameter = draft.parameters[argument.a];
      if (parameter.constant) {
        put_constant(launch, argument.offset, parameter, call);
        return;
      }
      const bool as_is = call.scalars[parameter.slot].type == parameter.type &&
                         compute_type(parameter.type) == parameter.type && parameter.type != DType::b1;
      launch.scalars.push_back({argument.offset, parameter.slot, parameter.type,
                                static_cast<std::uint8_t>(as_is ? size_of(parameter.type) : 0)});
      return;
    }
  }
}

/// One more temporary, as large as the largest workspace of the plan's kernels.
void share_workspace(Plan& plan, const Draft& draft, const detail::Call& call) {
  std::uint64_t bytes = 0;
  for (const Launch& launch : plan.launches) bytes = std::max(bytes, launch.shape.workspace_bytes);
  if (bytes == 0) return;
  const auto number = static_cast<std::uint32_t>(call.input_count + call.target_count + plan.temporaries.size());
  plan.temporaries.push_back(bytes);
  for (std::size_t k = 0; k < plan.launches.size(); ++k) {
    if (plan.launches[k].shape.workspace_bytes == 0) continue;
    for (const Argument& argument : codegen::argument_layout(draft.kernels[k].kernel).arguments)
      if (argument.kind == ArgumentKind::workspace) plan.launches[k].pointers.push_back({argument.offset, number, 0});
  }
}

using Compiled = std::shared_ptr<const CompiledKernel>;

/// What a record names may be missing from a bundle, where nothing can be compiled: then the heuristic's kernel is
/// taken.
Compiled compile_tuned(Launch& launch, const DraftKernel& draft, const Machine& machine, const CodeFlags& flags) {
  try {
    return compiled_kernel(draft.kernel, draft.schedule, machine, flags);
  } catch (const Error& error) {
    KILN_LOG(1, "a tuned kernel cannot be had: {}", error.what());
  }
  launch.shape = codegen::launch_shape(draft.kernel, draft.tunable->heuristic, draft.extents);
  return compiled_kernel(draft.kernel, draft.tunable->heuristic, machine, flags);
}

void compile(Launch& launch, const DraftKernel& draft, const Machine& machine, const CodeFlags& flags,
             const detail::Where& where) {
  const bool is_known = draft.tunable && draft.tunable->record;
  launch.compiled = naming_places(draft.kernel, where, [&]() -> Compiled {
    return is_known ? compile_tuned(launch, draft, machine, flags)
                    : compiled_kernel(draft.kernel, draft.schedule, machine, flags);
  });
  launch.kernel = launch.compiled->loaded.get();
  launch.tuning = join_tuning(draft, machine, flags, launch.compiled, launch.shape);
}

}  // namespace

std::unique_ptr<const Plan> finish(const Draft& draft, const detail::Call& call, const Machine& machine,
                                   SpecializationList* known) {
  auto plan = std::make_unique<Plan>();
  plan->device = draft.device;
  plan->backend = &runtime::backend(draft.device);
  plan->targets = draft.targets;
  plan->temporaries = draft.temporaries;
  plan->non_negative = draft.non_negative;
  if (call.is_function) plan->where = call.where;
  for (const std::string& note : draft.notes) KILN_LOG(3, "{}{}", note, place(call.where));
  const CodeFlags flags{call.options.contract, call.options.fast_math, call.options.lineinfo};
  const std::shared_ptr<SpecializationRecord> record =
      known ? describe(draft, call, device_text(draft.device)) : nullptr;
  for (const DraftKernel& kernel : draft.kernels) {
    const codegen::ArgumentLayout layout = codegen::argument_layout(kernel.kernel);
    Launch launch;
    launch.shape = kernel.shape;
    launch.bytes_moved = kernel.bytes_moved;
    launch.operations = kernel.operations;
    launch.image.resize(layout.size);
    for (const Argument& argument : layout.arguments) add_argument(launch, kernel, argument, call);
    note_tuning_job(kernel, launch.image, machine, flags);
    compile(launch, kernel, machine, flags, call.where);
    if (record) record->add_kernel(launch.compiled->source.entry, *launch.compiled->binary);
    plan->launches.push_back(std::move(launch));
  }
  share_workspace(*plan, draft, call);
  if (known) plan->specialization = known->add(record);
  return plan;
}

}  // namespace kiln::dsl
