// dsl/drafting.cpp -- builds each kernel of a call: body, memory of its operands, collapsed loop, classes.
#include "dsl/drafting.h"

#include <algorithm>

#include "codegen/pass/passes.h"
#include "dsl/call_key.h"
#include "dsl/collapse.h"
#include "dsl/infer.h"
#include "dsl/operation_count.h"
#include "dsl/splitting.h"
#include "dsl/temporaries.h"
#include "support/check.h"

namespace kiln::dsl {

namespace {

void check_argument_size(const DraftKernel& draft, const detail::Call& call, int limit) {
  const std::uint32_t bytes = codegen::argument_layout(draft.kernel).size;
  if (bytes <= static_cast<std::uint32_t>(limit)) return;
  fail<ShapeError>(
      "an expression with {} operands and {} scalars needs {} bytes of kernel arguments; CUDA allows {} (4096 before "
      "CUDA 12.1){}: compute a part with kl::eval first",
      draft.kernel.accesses.size(), draft.parameters.size(), bytes, limit, place(call.where));
}

void check_host_versions(const codegen::Graph& body) {
  for (codegen::NodeId id = 0; id < body.size(); ++id) {
    if (body[id].kind != codegen::NodeKind::call || body.function(body[id]).host.thunk || body.function(body[id]).loop)
      continue;
    const std::string& name = body.function(body[id]).name;
    fail<TypeError>(
        "{0}{1}: this kl::function has CUDA text only, which the CPU device cannot run; give kl::function a host "
        "version "
        "as its last argument (a lambda of the same parameters), or run on a GPU",
        name, place(where_of(body, id)));
  }
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
  share_temporaries(draft_, call_.input_count + call_.target_count);
  return std::move(draft_);
}

void Drafting::build_groups() {
  Segmentation segmentation = segment(trace_.graph, shapes_, operands_, loops_, machine_.traits);
  temporaries_ = std::move(segmentation.temporaries);
  draft_.notes = std::move(segmentation.notes);
  const codegen::PartitionLimits limits = codegen::partition_limits(machine_.traits);
  for (Segment& segment : segmentation.segments) {
    run_passes(segment);
    if (call_.scatter) {  // both outputs are stored by one kernel
      groups_.push_back({std::move(segment), {}});
      continue;
    }
    for (Segment& part : split(std::move(segment), limits, temporaries_, draft_.notes))
      groups_.push_back({std::move(part), {}});
  }
  for (const Temporary& temporary : temporaries_) {
    const std::int64_t elements = element_count("temporary", temporary.shape, call_.where);
    draft_.temporaries.push_back(static_cast<std::uint64_t>(elements) * size_of(temporary.type));
  }
}

void Drafting::run_passes(Segment& segment) const {
  codegen::PassOptions passes;
  passes.holds_rows = segment.holds_rows;
  passes.joins_exponentials = segment.joins_exponentials;
  const auto reduced = segment.loop.span().last(static_cast<std::size_t>(segment.reduced));
  passes.empty_rows = std::find(reduced.begin(), reduced.end(), 0) != reduced.end();
  for (const Leaf& leaf : segment.body.leaves) {
    // An iota that the user passes starts anywhere: calls with other starts share the plan.
    passes.iotas.push_back(leaf.iota && leaf.slot < 0 ? iota_range(reached(leaf.view, leaf.folds))
                                                      : codegen::IotaRange{});
  }
  segment.body.graph = codegen::run_pipeline(segment.body.graph, passes);
  segment.body = renumbered(segment.body);
}

Store Drafting::store_of(const SegmentOutput& output, const Segment& segment) const {
  if (output.is_temporary) {
    const Temporary& temporary = temporaries_[output.number];
    return {{temporary_base(output.number), false},
            0,
            temporary.type,
            over_loop(contiguous("temporary", temporary.shape, call_.where), output, segment.loop),
            true};
  }
  const Destination& destination = destinations_[output.number];
  const DType type = call_.targets[output.number].type;  // the places of a scatter are no elements of its target
  if (destination.temporary) {
    const Strided view = contiguous("temporary", destination.view.shape, call_.where);
    return {{temporary_base(*destination.temporary), false}, 0, type, over_loop(view, output, segment.loop)};
  }
  return {{call_.input_count + output.number, false},
          destination.address,
          type,
          over_loop(destination.view, output, segment.loop)};
}

void Drafting::build_kernels() {
  for (const Group& group : groups_) {
    const Segment& segment = group.segment;
    Parts parts{&segment.body, &group.aliased, {}, segment.loop, segment.reduced};
    for (const SegmentOutput& output : segment.outputs) parts.stores.push_back(store_of(output, segment));
    draft_.kernels.push_back(build(parts));
  }
}

void Drafting::build_copies() {
  static const std::vector<bool> unaliased{false};
  for (std::uint32_t t = 0; t < call_.target_count; ++t) {
    const Destination& destination = destinations_[t];
    if (!destination.temporary) continue;
    const DType type = destination.layout->dtype;
    Leaf leaf{-1, false, type, contiguous("temporary", loops_[t], call_.where)};
    leaf.temporary = static_cast<int>(*destination.temporary);
    Body body;
    body.leaves.push_back(leaf);
    body.graph.outputs = {body.graph.load(0, type)};
    Parts parts{&body, &unaliased, {}, loops_[t]};
    parts.stores.push_back({{call_.input_count + t, false}, destination.address, type, destination.view});
    draft_.kernels.push_back(build(parts));
  }
}

std::uint32_t Drafting::temporary_base(std::uint32_t number) const {
  return call_.input_count + call_.target_count + number;
}

Base Drafting::base_of(const Leaf& leaf) const {
  if (leaf.temporary >= 0) return {temporary_base(static_cast<std::uint32_t>(leaf.temporary)), false};
  return {leaf.slot < 0 ? 0 : static_cast<std::uint32_t>(leaf.slot), leaf.slot < 0};
}

std::uint64_t Drafting::leaf_address(const Leaf& leaf) const {
  if (leaf.temporary >= 0) return 0;  // allocated by this call
  const detail::Handle& handle = call_.inputs[leaf.slot];
  return handle.storage ? reinterpret_cast<std::uint64_t>(handle.data) : size_of(real_of(leaf.type));
}

/// True for an operand without elements, which only a reduction over nothing has.
bool Drafting::is_empty(const Leaf& leaf) const {
  if (leaf.iota) return false;
  const bool kept = leaf.temporary >= 0;
  const Shape& shape = kept ? temporaries_[static_cast<std::size_t>(leaf.temporary)].shape
                            : operands_[static_cast<std::size_t>(leaf.slot)].view.shape;
  return std::find(shape.extents.begin(), shape.extents.begin() + shape.rank, 0) != shape.extents.begin() + shape.rank;
}

/// Walks and bases of every access: leaves first, then stores.
void Drafting::place_accesses(const Parts& parts, DraftKernel& draft) const {
  LoopNest nest{parts.loop, {}, parts.body->leaves.size(), parts.reduced};
  const auto nodes = parts.body->graph.nodes();
  nest.in_order = std::any_of(nodes.begin(), nodes.end(),
                              [](const codegen::Node& node) { return node.kind == codegen::NodeKind::scan; });
  for (const Leaf& leaf : parts.body->leaves) {
    const int bytes = leaf.iota ? leaf.gathers : leaf.gathered ? 0 : static_cast<int>(size_of(leaf.type));
    LoopNest::Walk walk{leaf.view.strides, leaf.view.offset, bytes, leaf.folds};
    // Nothing may be read of such an operand: it moves along the loop that is never entered.
    if (parts.reduced > 0 && !leaf.gathered && is_empty(leaf)) walk.strides[parts.loop.rank - 1] = 1;
    nest.walks.push_back(walk);
    draft.bases.push_back(base_of(leaf));
  }
  for (const Store& store : parts.stores) {
    nest.walks.push_back({store.view.strides, store.view.offset, static_cast<int>(size_of(store.type)), {}});
    draft.bases.push_back(store.base);
  }
  draft.nest = collapse(nest);
}

/// Classes of access `number` of the collapsed loop; adds the bytes that it moves.
codegen::Access Drafting::access_of(const Parts& parts, DraftKernel& draft, std::size_t number) const {
  const LoopNest& nest = draft.nest;
  const std::size_t leaves = parts.body->leaves.size();
  codegen::Access access;
  access.store = number >= leaves;
  const Store* store = access.store ? &parts.stores[number - leaves] : nullptr;
  const Leaf* leaf = access.store ? nullptr : &parts.body->leaves[number];
  access.type = store ? store->type : leaf->type;
  access.iota = leaf && leaf->iota;
  access.gathered = leaf && leaf->gathered;
  access.gathers = leaf ? leaf->gathers : 0;
  access.aliased = leaf && (*parts.aliased)[number];
  access.axes = axis_classes(nest, number);
  access.folds = folded_axes(nest, number);
  if (access.iota) return access;
  const auto bytes = static_cast<std::int64_t>(size_of(access.type));
  const std::uint64_t base = store ? store->address : leaf_address(*leaf);
  const LoopNest::Walk& walk = nest.walks[number];
  const std::uint64_t address = base + static_cast<std::uint64_t>(unfolded_offset(walk.offset, walk.folds) * bytes);
  if (access.gathered) return gathered_access(*parts.body, draft, number, access, address);
  access.alignment = alignment_class(nest, number, address, access.type);
  if (nest.reduced == 0) {
    access.dense_alignment = dense_alignment(nest, number, address);
    if (!machine_.traits.cuda && access.dense_alignment > 0) access.dense_alignment = 1;  // CPUs load from anywhere
  }
  std::int64_t elements = 1;
  for (int axis = 0; axis < nest.shape.rank; ++axis)
    if (nest.walks[number].strides[axis] != 0) elements *= nest.shape.extents[axis];
  draft.bytes_moved += elements * bytes;
  return access;
}

std::vector<AccessMemory> Drafting::memories_of(const Parts& parts, const DraftKernel& draft) const {
  std::vector<AccessMemory> memories;
  const std::size_t leaves = parts.body->leaves.size();
  for (std::size_t a = 0; a < draft.nest.walks.size(); ++a) {
    const Leaf* const leaf = a < leaves ? &parts.body->leaves[a] : nullptr;
    AccessMemory memory{draft.bases[a].number};
    if (leaf && !leaf->iota && leaf->temporary < 0)
      memory.memory = neighbour_of(call_.inputs, static_cast<unsigned>(leaf->slot));
    if (!leaf || !leaf->iota) {
      const auto bytes = static_cast<std::int64_t>(size_of(draft.kernel.accesses[a].type));
      const std::uint64_t base = leaf ? leaf_address(*leaf) : parts.stores[a - leaves].address;
      memory.address = base + static_cast<std::uint64_t>(draft.nest.walks[a].offset * bytes);
    }
    memories.push_back(memory);
  }
  return memories;
}

DraftKernel Drafting::build(const Parts& parts) {
  DraftKernel draft;
  place_accesses(parts, draft);
  const LoopNest& nest = draft.nest;
  codegen::Kernel& kernel = draft.kernel;
  kernel.rank = nest.shape.rank;
  kernel.reduced = nest.reduced;
  std::vector<DType> types;
  for (std::size_t a = 0; a < nest.walks.size(); ++a) {
    kernel.accesses.push_back(access_of(parts, draft, a));
    const codegen::Access& access = kernel.accesses.back();
    types.push_back(access.iota ? DType::i8 : access.type);  // an iota's reach is counted in elements
  }
  kernel.index = index_width(nest, types);
  draft.parameters = parts.body->parameters;
  for (const Parameter& parameter : draft.parameters) kernel.parameters.push_back(parameter.type);
  kernel.body = parts.body->graph;
  if (call_.scatter && !parts.stores.empty() && !parts.stores[0].is_temporary) mark_scatter(draft);
  align_gathering_iotas(kernel);
  kernel.calls_host = !machine_.traits.cuda && !kernel.body.functions().empty();
  if (kernel.calls_host) check_host_versions(kernel.body);
  kernel.comment = expression_text(kernel.body);
  draft.operations = operation_count(kernel, nest.shape);
  draft.extents.loop.assign(nest.shape.extents.begin(), nest.shape.extents.begin() + nest.shape.rank);
  if (nest.reduced == 0) find_windows(draft, memories_of(parts, draft), machine_.traits.cuda);
  if (machine_.traits.cuda) check_argument_size(draft, call_, machine_.traits.argument_bytes);
  schedule(draft);
  return draft;
}

}  // namespace kiln::dsl
