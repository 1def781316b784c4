// dsl/drafting.cpp -- groups outputs into kernels and builds each: body, collapsed loop, classes, schedule.
#include "dsl/drafting.h"

#include <algorithm>

#include "codegen/pass/passes.h"
#include "dsl/collapse.h"
#include "dsl/infer.h"
#include "support/check.h"

namespace kiln::dsl {

using codegen::NodeId;

namespace {

constexpr std::uint32_t argument_limit = 32764;  // bytes; sm_70 and newer with CUDA 12.1 and newer, 4096 before

void check_argument_size(const DraftKernel& draft, const detail::Call& call) {
  const std::uint32_t bytes = codegen::argument_layout(draft.kernel).size;
  if (bytes <= argument_limit) return;
  fail<ShapeError>(
      "an expression with {} operands and {} scalars needs {} bytes of kernel arguments; CUDA allows {} (4096 before "
      "CUDA 12.1){}: compute a part with kl::eval first",
      draft.kernel.accesses.size(), draft.parameters.size(), bytes, argument_limit, place(call.where));
}

}  // namespace

Draft draft(const Trace& trace, const detail::Call& call, runtime::DeviceId device, const Machine& machine) {
  return Drafting(trace, call, device, machine).run();
}

Draft Drafting::run() {
  resolve_operands();
  resolve_targets();
  build_groups();
  resolve_overlaps();
  build_kernels();
  build_copies();
  return std::move(draft_);
}

void Drafting::build_groups() {
  for (std::uint32_t t = 0; t < call_.target_count; ++t) {
    if (destinations_[t].is_empty()) continue;
    const auto same = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) { return g.loop == loops_[t]; });
    Group& group = same != groups_.end() ? *same : groups_.emplace_back();
    group.loop = loops_[t];
    group.targets.push_back(t);
  }
  if (groups_.size() > 1)
    draft_.notes.push_back(fmt::format("{} kernels: outputs of different shapes do not share a loop", groups_.size()));
  codegen::PassOptions passes{call_.options.contract, call_.options.fast_math, machine_.traits.cuda, {}};
  for (Group& group : groups_) {
    std::vector<NodeId> outputs;
    for (const std::uint32_t target : group.targets) outputs.push_back(trace_.graph.outputs[target]);
    group.body = lower(trace_.graph, shapes_, operands_, outputs, group.loop);
    passes.iotas.clear();
    for (const Leaf& leaf : group.body.leaves) {
      // An iota that the user passes starts anywhere: calls with other starts share the plan.
      passes.iotas.push_back(leaf.iota && leaf.slot < 0 ? iota_range(leaf.view) : codegen::IotaRange{});
    }
    group.body.graph = codegen::run_pipeline(group.body.graph, passes);
    group.body = renumbered(group.body);
  }
}

void Drafting::build_kernels() {
  for (const Group& group : groups_) {
    Parts parts{&group.body, &group.aliased, {}, group.loop};
    for (const std::uint32_t target : group.targets) {
      const Destination& destination = destinations_[target];
      Store store{
          {call_.input_count + target, false}, destination.address, destination.layout->dtype, destination.view};
      if (destination.temporary) {
        store.base.number = call_.input_count + call_.target_count + *destination.temporary;
        store.address = 0;
        store.view = contiguous("temporary", group.loop, call_.where);
      }
      parts.stores.push_back(store);
    }
    draft_.kernels.push_back(build(parts));
  }
}

void Drafting::build_copies() {
  static const std::vector<bool> unaliased{false};
  for (std::uint32_t t = 0; t < call_.target_count; ++t) {
    const Destination& destination = destinations_[t];
    if (!destination.temporary) continue;
    const DType type = destination.layout->dtype;
    Body body;
    body.leaves.push_back({0, false, type, contiguous("temporary", loops_[t], call_.where)});
    body.graph.outputs = {body.graph.load(0, type)};
    Parts parts{&body, &unaliased, {}, loops_[t]};
    parts.leaf_base = call_.input_count + call_.target_count + *destination.temporary;
    parts.leaf_alignment = 16;
    parts.stores.push_back({{call_.input_count + t, false}, destination.address, type, destination.view});
    draft_.kernels.push_back(build(parts));
  }
}

std::uint64_t Drafting::leaf_address(const Leaf& leaf) const {
  const detail::Handle& handle = call_.inputs[leaf.slot];
  return handle.storage ? reinterpret_cast<std::uint64_t>(handle.data) : size_of(real_of(leaf.type));
}

/// Walks and bases of every access: leaves first, then stores.
void Drafting::place_accesses(const Parts& parts, DraftKernel& draft) const {
  draft.nest.shape = parts.loop;
  draft.nest.first_store = parts.body->leaves.size();
  for (const Leaf& leaf : parts.body->leaves) {
    draft.nest.walks.push_back({leaf.view.strides, leaf.view.offset});
    draft.bases.push_back({leaf.slot < 0 ? 0 : static_cast<std::uint32_t>(leaf.slot) + parts.leaf_base, leaf.slot < 0});
  }
  for (const Store& store : parts.stores) {
    draft.nest.walks.push_back({store.view.strides, store.view.offset});
    draft.bases.push_back(store.base);
  }
  draft.nest = collapse(draft.nest);
}

DraftKernel Drafting::build(const Parts& parts) {
  DraftKernel draft;
  place_accesses(parts, draft);
  const LoopNest& nest = draft.nest;
  codegen::Kernel& kernel = draft.kernel;
  kernel.rank = nest.shape.rank;
  std::vector<DType> types;
  const std::size_t leaves = parts.body->leaves.size();
  for (std::size_t a = 0; a < nest.walks.size(); ++a) {
    codegen::Access access;
    access.store = a >= leaves;
    const Store* store = access.store ? &parts.stores[a - leaves] : nullptr;
    const Leaf* leaf = access.store ? nullptr : &parts.body->leaves[a];
    access.type = store ? store->type : leaf->type;
    access.iota = leaf && leaf->iota;
    access.aliased = leaf && (*parts.aliased)[a];
    access.axes = axis_classes(nest, a);
    if (!access.iota) {
      const auto bytes = static_cast<std::int64_t>(size_of(access.type));
      const std::uint64_t base = store ? store->address : parts.leaf_alignment ? 0 : leaf_address(*leaf);
      const std::uint64_t address = base + static_cast<std::uint64_t>(nest.walks[a].offset * bytes);
      access.alignment = alignment_class(nest, a, address, access.type);
      if (machine_.traits.cuda) access.dense_alignment = dense_alignment(nest, a, address);
      std::int64_t elements = 1;
      for (int axis = 0; axis < nest.shape.rank; ++axis)
        if (nest.walks[a].strides[axis] != 0) elements *= nest.shape.extents[axis];
      draft.bytes_moved += elements * bytes;
    }
    types.push_back(access.iota ? DType::i8 : access.type);  // an iota's reach is counted in elements
    kernel.accesses.push_back(std::move(access));
  }
  kernel.index = index_width(nest, types);
  draft.parameters = parts.body->parameters;
  for (const Parameter& parameter : draft.parameters) kernel.parameters.push_back(parameter.type);
  kernel.body = parts.body->graph;
  kernel.comment = expression_text(kernel.body);
  draft.extents.loop.assign(nest.shape.extents.begin(), nest.shape.extents.begin() + nest.shape.rank);
  if (machine_.traits.cuda) check_argument_size(draft, call_);
  schedule(draft);
  return draft;
}

void Drafting::schedule(DraftKernel& draft) const {
  draft.schedule = codegen::choose_schedule(draft.kernel, draft.extents, machine_.traits);
  if (machine_.traits.cuda) {
    if (call_.launch) apply_launch_control(draft);
    const LaunchShape required = codegen::launch_shape(draft.kernel, draft.schedule, draft.extents);
    draft.shape = required;
    if (!call_.launch) return;
    draft.shape.shared_bytes += call_.launch->shared_bytes;
    std::uint64_t asked = 1, needed = 1;
    for (int axis = 0; axis < 3; ++axis) {
      asked *= std::max(1u, call_.launch->grid[axis]);
      needed *= required.grid[axis];
    }
    if (call_.launch->grid[0] && asked < needed) {
      fail<ShapeError>(
          "a grid of {} blocks does not cover the result, which needs {}{}; leave Launch::grid out of fused "
          "expressions",
          asked, needed, place(call_.where));
    }
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

void Drafting::apply_launch_control(DraftKernel& draft) const {
  const detail::LaunchControl& launch = *call_.launch;
  codegen::Schedule& schedule = draft.schedule;
  const std::uint64_t block =
      std::uint64_t{launch.block[0]} * std::max(1u, launch.block[1]) * std::max(1u, launch.block[2]);
  if (block > 1024)
    fail<ShapeError>("a block of {} threads is more than the 1024 that CUDA allows{}", block, place(call_.where));
  if (schedule.form == codegen::Template::transpose || draft.kernel.rank == 0) return;  // the tile fixes both
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
