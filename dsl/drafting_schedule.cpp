// dsl/drafting_schedule.cpp -- the schedule and the launch of a kernel, and what the caller may say about them.
#include <algorithm>

#include "codegen/emit/emit.h"
#include "dsl/drafting.h"
#include "support/check.h"

namespace kiln::dsl {

namespace {

/// What a launch asks for and a kernel cannot give is told, not dropped in silence.
std::string ignored(const char* field, const std::string& why) {
  return fmt::format("Launch::{} is not used: {}", field, why);
}

}  // namespace

void Drafting::schedule(DraftKernel& draft) {
  draft.schedule = codegen::choose_schedule(draft.kernel, draft.extents, machine_.traits);
  if (!machine_.traits.cuda) {
    schedule_on_cpu(draft);
    return;
  }
  if (call_.launch) apply_launch_control(draft);
  draft.shape = codegen::launch_shape(draft.kernel, draft.schedule, draft.extents);
  if (!call_.launch) return;
  check_grid(draft.shape);
  draft.shape.shared_bytes += call_.launch->shared_bytes;
  draft.shape.cooperative = call_.launch->cooperative;
  if (call_.launch->cluster > 1) apply_cluster(draft);
}

void Drafting::schedule_on_cpu(DraftKernel& draft) const {
  if (draft.kernel.reduced > 0) {
    draft.shape = codegen::cpu_reduction_shape(draft.kernel, draft.extents);
    return;
  }
  draft.shape = LaunchShape{};
  draft.shape.units = codegen::cpu_units(draft.kernel, draft.extents);
  std::int64_t elements = 1;
  for (const std::int64_t extent : draft.extents.loop) elements *= extent;
  // Fewer elements than this are done before another thread is awake; a longer body is worth waking one sooner.
  const auto elements_worth_a_thread =
      std::clamp<std::int64_t>(262144 / static_cast<std::int64_t>(draft.kernel.body.size()), 2048, 32768);
  const std::int64_t per_unit = std::max<std::int64_t>(1, elements / std::max<std::int64_t>(1, draft.shape.units));
  draft.shape.grain = std::max<std::int64_t>(1, elements_worth_a_thread / per_unit);
}

void Drafting::check_grid(const LaunchShape& required) const {
  std::uint64_t asked = 1, needed = 1;
  for (int axis = 0; axis < 3; ++axis) {
    asked *= std::max(1u, call_.launch->grid[axis]);
    needed *= required.grid[axis];
  }
  if (!call_.launch->grid[0] || asked >= needed) return;
  fail<ShapeError>(
      "a grid of {} blocks does not cover the result, which needs {}{}; leave Launch::grid out of fused "
      "expressions",
      asked, needed, place(call_.where));
}

void Drafting::apply_cluster(DraftKernel& draft) {
  const std::uint32_t cluster = call_.launch->cluster;
  if (cluster > 16)
    fail<ShapeError>("a cluster of {} blocks is more than the 16 that CUDA allows{}", cluster, place(call_.where));
  if (machine_.traits.compute_capability < 90)
    fail<DeviceError>("a cluster of {} blocks needs compute capability 9.0; this is {}{}", cluster, machine_.arch,
                      place(call_.where));
  if (draft.kernel.reduced > 0) {
    draft_.notes.push_back(ignored("cluster", "the schedule of a reduction decides how blocks work together"));
  } else if (draft.shape.grid[0] % cluster != 0) {
    draft_.notes.push_back(
        ignored("cluster", fmt::format("{} blocks do not divide a grid of {}", cluster, draft.shape.grid[0])));
  } else {
    draft.shape.cluster = cluster;
  }
}

/// A window's block has two dimensions: threads along the innermost axis, and rows.
void Drafting::apply_window_control(DraftKernel& draft) const {
  const detail::LaunchControl& launch = *call_.launch;
  codegen::Schedule& schedule = draft.schedule;
  const unsigned rows = std::max(1u, launch.block[1]) * std::max(1u, launch.block[2]);
  if (launch.block[0] > 0 && (draft.kernel.rank > 1 || rows == 1)) {
    const auto block = static_cast<int>(launch.block[0] * rows);
    schedule.columns =
        rows == 1 && draft.kernel.rank > 1 ? std::min(schedule.columns, block) : static_cast<int>(launch.block[0]);
    schedule.min_blocks = std::max(1, schedule.min_blocks * schedule.block / block);
    schedule.block = block / schedule.columns * schedule.columns;
    schedule.reason += "; block size set by the caller";
  }
  if (launch.items > 0 && draft.kernel.rank > 1) {
    schedule.items = std::clamp(static_cast<int>(launch.items) / schedule.vector, 1, 16);
    schedule.reason += "; rows per thread set by the caller";
  }
}

void Drafting::apply_launch_control(DraftKernel& draft) {
  const detail::LaunchControl& launch = *call_.launch;
  codegen::Schedule& schedule = draft.schedule;
  const std::uint64_t block =
      std::uint64_t{launch.block[0]} * std::max(1u, launch.block[1]) * std::max(1u, launch.block[2]);
  if (block > 1024)
    fail<ShapeError>("a block of {} threads is more than the 1024 that CUDA allows{}", block, place(call_.where));
  if (draft.kernel.reduced > 0) {
    // Another block would join the elements in another order: results must not depend on the launch.
    constexpr const char* fixed = "the order in which a reduction joins its elements follows from its schedule";
    if (block > 0) draft_.notes.push_back(ignored("block", fixed));
    if (launch.items > 0) draft_.notes.push_back(ignored("items", fixed));
    return;
  }
  if (schedule.form == codegen::Template::transpose || draft.kernel.rank == 0) return;  // the tile fixes both
  if (schedule.form == codegen::Template::window) return apply_window_control(draft);
  if (block > 0 && static_cast<int>(block) != schedule.block) {
    schedule.min_blocks = static_cast<int>(static_cast<std::uint64_t>(schedule.min_blocks * schedule.block) / block);
    schedule.block = static_cast<int>(block);
    schedule.reason += "; block size set by the caller";
  }
  if (launch.items > 0 && schedule.form != codegen::Template::dense) {
    schedule.items = std::clamp(static_cast<int>(launch.items) / schedule.vector, 1, 64);
    schedule.reason += "; items per thread set by the caller";
  }
}

}  // namespace kiln::dsl
