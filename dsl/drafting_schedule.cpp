// dsl/drafting_schedule.cpp -- the schedule and the launch of a kernel, and what the caller may say about them.
#include <algorithm>

#include "codegen/emit/emit.h"
#include "codegen/schedule/launch_wish.h"
#include "dsl/drafting.h"
#include "dsl/tuner.h"
#include "support/check.h"

namespace kiln::dsl {

namespace {

/// What a launch asks for and a kernel cannot give is told, not dropped in silence.
std::string ignored(const char* field, const std::string& why) {
  return fmt::format("Launch::{} is not used: {}", field, why);
}

codegen::LaunchWish wish_of(const detail::LaunchControl& launch) {
  codegen::LaunchWish wish;
  // Numbers that no launch can have stay too large.
  const auto bounded = [](unsigned n) { return static_cast<int>(std::min(n, 1u << 20)); };
  for (int axis = 0; axis < 3; ++axis) wish.block[axis] = bounded(launch.block[axis]);
  wish.items = bounded(launch.items);
  if (launch.grid[0])
    wish.grid = std::uint64_t{launch.grid[0]} * std::max(1u, launch.grid[1]) * std::max(1u, launch.grid[2]);
  return wish;
}

}  // namespace

void Drafting::schedule(DraftKernel& draft) {
  draft.schedule = codegen::choose_schedule(draft.kernel, draft.extents, machine_.traits);
  if (!machine_.traits.cuda) {
    schedule_on_cpu(draft);
    return;
  }
  if (call_.launch) apply_launch_control(draft);
  if (is_tuned())
    apply_tuning(draft, machine_, {call_.options.contract, call_.options.fast_math, call_.options.lineinfo});
  draft.shape = codegen::launch_shape(draft.kernel, draft.schedule, draft.extents);
  if (!call_.launch) return;
  apply_grid(draft);
  draft.shape.shared_bytes += call_.launch->shared_bytes;
  draft.shape.cooperative = call_.launch->cooperative;
  if (call_.launch->cluster > 1) apply_cluster(draft);
}

/// Where the caller says how to launch, nothing is tuned.
bool Drafting::is_tuned() const {
  const detail::LaunchControl* const launch = call_.launch;
  return !launch || (launch->tune && launch->grid[0] == 0 && launch->block[0] == 0 && launch->items == 0 &&
                     launch->shared_bytes == 0 && launch->cluster <= 1 && !launch->cooperative);
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

void Drafting::apply_grid(DraftKernel& draft) const {
  const std::string problem = codegen::apply_grid(wish_of(*call_.launch), draft.schedule, draft.shape);
  if (!problem.empty()) fail<ShapeError>("{}{}", problem, place(call_.where));
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

void Drafting::apply_launch_control(DraftKernel& draft) {
  const std::string problem = codegen::apply_wish(draft.kernel, draft.extents, wish_of(*call_.launch), draft.schedule);
  if (!problem.empty()) fail<ShapeError>("{}{}", problem, place(call_.where));
}

}  // namespace kiln::dsl
