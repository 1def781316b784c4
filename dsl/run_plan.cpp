// dsl/run_plan.cpp -- the hot path of a call whose plan is known: gather, patch, launch.
#include "dsl/plan.h"

#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "dsl/array_memory.h"
#include "dsl/convert.h"
#include "dsl/kernels.h"
#include "dsl/recorded_assignment.h"
#include "dsl/scalar_fault.h"
#include "dsl/session.h"
#include "dsl/shapes.h"
#include "dsl/short_list.h"
#include "dsl/specializations.h"
#include "dsl/tuner.h"
#include "runtime/activity.h"
#include "runtime/recording.h"
#include "support/check.h"
#include "support/log.h"

namespace kiln::dsl {
namespace {

using detail::Call;
using detail::Handle;

/// Storage allocated for this call, first that of results, in their order; released unless taken, so a failed call
/// leaves nothing behind.
class Fresh {
 public:
  explicit Fresh(std::size_t room) : storages_(room) {}
  ~Fresh() {
    for (unsigned i = 0; i < kept_; ++i) detail::release(reinterpret_cast<detail::Storage*>(storages_[i]));
  }
  Fresh(const Fresh&) = delete;
  Fresh& operator=(const Fresh&) = delete;
  char* keep(runtime::Storage* storage) {
    storages_[kept_++] = storage;
    return static_cast<char*>(storage->memory);
  }
  detail::Storage* take_next() {
    return reinterpret_cast<detail::Storage*>(std::exchange(storages_[taken_++], nullptr));
  }

 private:
  ShortList<runtime::Storage*, 8> storages_;
  unsigned kept_ = 0, taken_ = 0;
};

constexpr std::size_t inline_bases = 32;
constexpr std::size_t inline_block_bytes = 1024;

void note_uses(const Plan& plan, const Call& call, runtime::NativeStream stream) {
  runtime::Recording* const capture = runtime::recording_of(*plan.backend, stream);
  const auto note = [&](const Handle& handle) {
    runtime::Storage* storage = storage_of(handle);
    if (storage && capture) [[unlikely]]
      capture->keep(*storage);
    if (storage && storage->stream != stream) runtime::note_use(*storage, stream);
  };
  for (unsigned i = 0; i < call.input_count; ++i) note(call.inputs[i]);
  for (unsigned t = 0; t < call.target_count; ++t)
    if (!plan.targets[t].allocate) note(*call.targets[t].handle);
}

detail::Where where_of(const Plan& plan, const Call& call) { return call.where.file ? call.where : plan.where; }

void check_exponents(const Plan& plan, const Call& call) {
  for (const std::uint32_t slot : plan.non_negative) {
    if (!is_negative(call.scalars[slot])) continue;
    char text[96];
    fail<TypeError>(
        "kl::pow: an integer to the power {}{} has no integer value; cast the base to a floating type with kl::cast",
        scalar_text(call.scalars[slot], text, sizeof text), place(where_of(plan, call)));
  }
}

void patch(const Plan& plan, const Launch& launch, const Call& call, char* const* bases, unsigned char* block) {
  std::memcpy(block, launch.image.data(), launch.image.size());
  for (const PointerPatch& pointer : launch.pointers) {
    char* const address = bases[pointer.base] + pointer.bytes;
    std::memcpy(block + pointer.at, &address, sizeof address);
  }
  for (const OffsetPatch& offset : launch.offsets) {
    // An index operand carries eight times its value, as if it were the address of 8-byte elements.
    const std::int64_t value = reinterpret_cast<std::int64_t>(call.inputs[offset.slot].data) / 8 + offset.offset;
    std::memcpy(block + offset.at, &value, sizeof value);
  }
  for (const ScalarPatch& scalar : launch.scalars) {
    const detail::ScalarArgument& value = call.scalars[scalar.slot];
    if (scalar.copy_bytes == 4) {
      std::memcpy(block + scalar.at, value.bytes, 4);
    } else if (scalar.copy_bytes) {
      std::memcpy(block + scalar.at, value.bytes, scalar.copy_bytes);
    } else if (!convert_scalar(value, scalar.type, block + scalar.at)) [[unlikely]] {
      fail_conversion(call, scalar.slot, scalar.type, where_of(plan, call));
    }
  }
}

/// A scalar that does not fit must be refused before the first of several kernels has written anything.
void check_scalars(const Plan& plan, const Call& call) {
  alignas(16) unsigned char converted[16];
  for (const Launch& launch : plan.launches) {
    for (const ScalarPatch& scalar : launch.scalars) {
      const detail::ScalarArgument& value = call.scalars[scalar.slot];
      if (!scalar.copy_bytes && !convert_scalar(value, scalar.type, converted))
        fail_conversion(call, scalar.slot, scalar.type, where_of(plan, call));
    }
  }
}

/// Counters of one launch; given back on the stream where they are its own.
class LaunchCounters {
 public:
  LaunchCounters(const Plan& plan, const Launch& launch, runtime::NativeStream stream)
      : backend_(*plan.backend), stream_(stream), counters_(make(backend_, launch.shape.counters, stream)) {}
  ~LaunchCounters() {
    if (counters_.is_own) backend_.release(counters_.memory, stream_);
  }
  LaunchCounters(const LaunchCounters&) = delete;
  LaunchCounters& operator=(const LaunchCounters&) = delete;
  const void* memory() const { return counters_.memory; }

 private:
  static runtime::Backend::Counters make(runtime::Backend& backend, std::uint32_t count, runtime::NativeStream stream) {
    if (runtime::Recording* const capture = runtime::recording_of(backend, stream))
      return {capture->counters(backend, count, stream), false};
    return backend.zeroed_counters(count, stream);
  }
  runtime::Backend& backend_;
  runtime::NativeStream stream_;
  runtime::Backend::Counters counters_;
};

/// "softmax (model.cpp:12)", the expression as its user knows it; empty for an expression without a place.
std::string label_of(const Plan& plan, const Call& call) {
  std::string label = (call.name ? call.name : "") + place(where_of(plan, call));
  if (label.starts_with(' ')) label = "expression" + label;
  return label;
}

/// What a launch runs: its own kernel, or that of the candidate which won.
struct Chosen {
  const runtime::LoadedKernel* kernel;
  const LaunchShape* shape;
  bool undecided = false;
};

Chosen chosen(const Launch& launch) {
  if (launch.tuning) [[unlikely]] {
    const int winner = launch.tuning->session->decided();
    if (winner == runtime::TuningSession::undecided) return {launch.kernel, &launch.shape, true};
    const auto candidate = static_cast<std::size_t>(winner);
    return {&launch.tuning->session->kernel(candidate), &launch.tuning->shapes[candidate]};
  }
  return {launch.kernel, &launch.shape};
}

[[gnu::cold, gnu::noinline]] void log_launch(const Plan& plan, const Launch& launch, const LaunchShape& shape,
                                             const Call& call) {
  const std::string label = label_of(plan, call);
  std::string how = fmt::format("{} unit{} of work", shape.units, shape.units == 1 ? "" : "s");
  if (plan.device.kind == runtime::DeviceKind::cuda) {
    how = fmt::format("grid {}x{}x{}, block {}x{}x{}", shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0],
                      shape.block[1], shape.block[2]);
    if (shape.shared_bytes > 0) how += fmt::format(", {} bytes of shared memory", shape.shared_bytes);
    if (shape.cluster > 1) how += fmt::format(", clusters of {} blocks", shape.cluster);
  }
  log_write(2, fmt::format("launch {}{}{}: {}, moves {} bytes", launch.compiled->source.entry,
                           label.empty() ? "" : " for ", label, how, launch.bytes_moved));
}

/// The same launch under the eyes of profiles and tools.
[[gnu::cold, gnu::noinline]] void observed_launch(const Plan& plan, const Launch& launch, const Chosen& choice,
                                                  const Call& call, const void* block, runtime::NativeStream stream) {
  const std::string label = label_of(plan, call);
  const runtime::ToolRange range(label.empty() ? launch.compiled->source.entry : label);
  const runtime::Activity activity{.backend = plan.backend,
                                   .stream = stream,
                                   .name = launch.compiled->source.entry,
                                   .label = label,
                                   .bytes = launch.bytes_moved,
                                   .operations = launch.operations};
  runtime::observe(activity,
                   [&] { plan.backend->launch(*choice.kernel, *choice.shape, block, launch.image.size(), stream); });
}

/// The same launch as part of a graph.
[[gnu::cold, gnu::noinline]] void recorded_launch(runtime::Recording& capture, const Plan& plan, const Launch& launch,
                                                  const Chosen& choice, const unsigned char* block,
                                                  runtime::NativeStream stream) {
  runtime::RecordedLaunch recorded;
  recorded.kernel = choice.kernel;
  if (launch.tuning)
    recorded.owner = launch.tuning;
  else
    recorded.owner = launch.compiled;
  recorded.shape = *choice.shape;
  recorded.parameters.emplace_back(block, block + launch.image.size());
  for (const PointerPatch& pointer : launch.pointers) recorded.pointers.push_back({0, pointer.at});
  capture.launch(*plan.backend, std::move(recorded), stream);
}

/// A call that may be timed, with a candidate that is still to be judged.
[[gnu::cold, gnu::noinline]] void trial_launch(const Plan& plan, const Launch& launch, const void* block,
                                               runtime::NativeStream stream) {
  launch.tuning->session->run(
      stream, static_cast<double>(launch.bytes_moved), [&](std::size_t candidate, const runtime::LoadedKernel& kernel) {
        plan.backend->launch(kernel, launch.tuning->shapes[candidate], block, launch.image.size(), stream);
      });
}

void launch_all(const Plan& plan, const Call& call, char* const* bases, runtime::NativeStream stream) {
  const bool observed = runtime::is_observed();
  runtime::Recording* const capture = runtime::recording_of(*plan.backend, stream);
  for (const Launch& launch : plan.launches) {
    const std::size_t bytes = launch.image.size();
    ShortList<unsigned char, inline_block_bytes> block(bytes);
    patch(plan, launch, call, bases, block.data());
    const Chosen choice = chosen(launch);
    if (log_enabled(2)) [[unlikely]]
      log_launch(plan, launch, *choice.shape, call);
    std::optional<LaunchCounters> counters;
    if (launch.shape.counters > 0) [[unlikely]] {
      const void* const memory = counters.emplace(plan, launch, stream).memory();
      std::memcpy(block.data() + launch.counters_at, &memory, sizeof memory);
    }
    if (capture) [[unlikely]]
      recorded_launch(*capture, plan, launch, choice, block.data(), stream);
    else if (observed) [[unlikely]]
      observed_launch(plan, launch, choice, call, block.data(), stream);
    else if (choice.undecided) [[unlikely]]
      trial_launch(plan, launch, block.data(), stream);
    else
      plan.backend->launch(*choice.kernel, *choice.shape, block.data(), bytes, stream);
  }
}

runtime::Storage* temporary_for(const Plan& plan, const Call& call, std::uint64_t bytes, runtime::NativeStream stream) {
  try {
    return runtime::allocate_storage(plan.device, bytes, stream);
  } catch (const OutOfMemory& error) {
    fail<OutOfMemory>("no memory for values between the kernels of {}: {}. Release arrays, or compute in parts",
                      label_of(plan, call), error.what());
  }
}

}  // namespace

void run_plan(const Plan& plan, const Call& call) {
  const runtime::NativeStream stream =
      call.launch && call.launch->has_stream ? given_stream(*call.launch, plan.device) : current_stream(plan.device);
  if (!plan.non_negative.empty()) [[unlikely]]
    check_exponents(plan, call);
  if (plan.launches.size() > 1) [[unlikely]]
    check_scalars(plan, call);

  const unsigned inputs = call.input_count, targets = call.target_count;
  ShortList<char*, inline_bases> bases(inputs + targets + plan.temporaries.size());
  Fresh fresh(targets + plan.temporaries.size());
  for (unsigned i = 0; i < inputs; ++i) bases[i] = static_cast<char*>(call.inputs[i].data);
  for (unsigned t = 0; t < targets; ++t) {
    const TargetPlan& target = plan.targets[t];
    if (target.allocate) {
      const std::size_t bytes = static_cast<std::size_t>(target.layout->size) * size_of(target.layout->dtype);
      bases[inputs + t] =
          fresh.keep(storage_for(plan.device, bytes, stream, "result", *target.layout, where_of(plan, call)));
    } else {
      bases[inputs + t] = static_cast<char*>(call.targets[t].handle->data);
    }
  }
  for (std::size_t i = 0; i < plan.temporaries.size(); ++i) {
    bases[inputs + targets + i] = fresh.keep(temporary_for(plan, call, plan.temporaries[i], stream));
  }
  launch_all(plan, call, bases.data(), stream);
  note_uses(plan, call, stream);
  if (runtime::Recording* const capture = runtime::recording_of(*plan.backend, stream)) [[unlikely]] {
    for (unsigned t = 0; t < targets; ++t)
      if (plan.targets[t].allocate && call.targets[t].handle->layout)
        check_replaced(*capture, *call.targets[t].handle, *plan.targets[t].layout, where_of(plan, call));
  }
  if (plan.specialization) plan.specialization->runs.fetch_add(1, std::memory_order_relaxed);
  for (unsigned t = 0; t < targets; ++t) {
    if (!plan.targets[t].allocate) continue;
    Handle& handle = *call.targets[t].handle;
    const Handle old = std::exchange(handle, Handle{fresh.take_next(), bases[inputs + t], plan.targets[t].layout});
    detail::release(old.storage);
  }
}

}  // namespace kiln::dsl
