// dsl/drafting_operands.cpp -- what the operands and destinations of a call are.
#include <algorithm>

#include "dsl/call_key.h"
#include "dsl/drafting.h"
#include "dsl/infer.h"
#include "dsl/layouts.h"
#include "dsl/session.h"
#include "support/check.h"

namespace kiln::dsl {
namespace {

using detail::Handle;

std::string device_text(runtime::DeviceId device) {
  return device.kind == runtime::DeviceKind::cpu ? "cpu" : fmt::format("cuda:{}", device.index);
}

}  // namespace

runtime::DeviceId device_of_call(const detail::Call& call) {
  for (unsigned i = 0; i < call.input_count; ++i)
    if (call.inputs[i].storage && call.inputs[i].layout) return device_of(*call.inputs[i].layout);
  for (unsigned t = 0; t < call.target_count; ++t)
    if (call.targets[t].handle->layout) return device_of(*call.targets[t].handle->layout);
  return current_device();
}

void Drafting::check_device(const Handle& handle, const char* role, std::uint32_t number) const {
  const runtime::DeviceId device = device_of(*handle.layout);
  if (device == draft_.device) return;
  fail<DeviceError>("{} {} is on {}, but the first operand is on {}{}; move one with .to(device)", role, number,
                    device_text(device), device_text(draft_.device), place(call_.where));
}

void Drafting::resolve_operands() {
  std::vector<unsigned> merged(call_.input_count);
  merge_inputs(call_.inputs, call_.input_count, merged.data());
  for (unsigned i = 0; i < call_.input_count; ++i) {
    const Handle& handle = call_.inputs[i];
    const detail::Layout& layout = *handle.layout;
    if (handle.storage) {
      check_device(handle, "operand", i);
      const std::size_t natural = size_of(real_of(layout.dtype));
      if (reinterpret_cast<std::uint64_t>(handle.data) % natural != 0 && layout.size > 0) {
        fail<TypeError>(
            "operand {} of type {} lies at an address that is not a multiple of {}{}; copy it to aligned memory", i,
            name_of(layout.dtype), natural, place(call_.where));
      }
    }
    operands_.push_back({strided_of(layout), layout.dtype, false, static_cast<int>(merged[i])});
  }
  for (const codegen::Node& node : trace_.graph.nodes()) {
    if (node.kind == codegen::NodeKind::iota) operands_[node.payload].iota = true;
    if (node.kind != codegen::NodeKind::input) continue;
    KILN_INTERNAL_CHECK(operands_[node.payload].type == node.type, "input {} is {}, the trace says {}", node.payload,
                        name_of(operands_[node.payload].type), name_of(node.type));
  }
  std::vector<Shape> inputs;
  for (const Operand& operand : operands_) inputs.push_back(operand.view.shape);
  shapes_ = infer_shapes(trace_.graph, inputs);
}

Destination Drafting::resolve_target(std::uint32_t number, const Shape& result) {
  const detail::Target& target = call_.targets[number];
  const Handle& handle = *target.handle;
  Destination destination;
  destination.layout = handle.layout;
  const bool fits = handle.layout && handle.storage && handle.layout->dtype == target.type &&
                    shape_of(*handle.layout) == result && device_of(*handle.layout) == draft_.device;
  if (target.resizable && !fits) {
    destination.allocate = true;
    destination.view = contiguous("result", result, call_.where);
    destination.layout = intern(target.type, draft_.device, destination.view, "result", call_.where);
    return destination;
  }
  if (!handle.layout)
    fail<ShapeError>("destination {} is an empty view{}; take a view of an array first", number, place(call_.where));
  check_device(handle, "destination", number);
  KILN_INTERNAL_CHECK(handle.layout->dtype == target.type, "destination is {}, the call says {}",
                      name_of(handle.layout->dtype), name_of(target.type));
  const Shape& shape = shape_of(*handle.layout);
  bool broadcasts = result.rank <= shape.rank;
  for (int axis = 0; broadcasts && axis < result.rank; ++axis) {
    const std::int64_t extent = result.extents[axis];
    broadcasts = extent == 1 || extent == shape.extents[axis + shape.rank - result.rank];
  }
  if (!broadcasts) {
    fail<ShapeError>("a result of shape {} ({}) does not fit the destination of shape {} ({}){}{}", to_text(result),
                     name_of(target.type), to_text(shape), name_of(target.type), place(call_.where),
                     is_of_the_cpp_library(call_.where)
                         ? "; a container or an algorithm moved a view by assigning, which writes elements: keep "
                           "views in a std::list, or pointers to them"
                         : "; a view keeps its shape: assign to an Array, or make the shapes agree");
  }
  destination.view = strided_of(*handle.layout);
  destination.address = reinterpret_cast<std::uint64_t>(handle.data);
  if (overlaps_itself({destination.address, static_cast<std::int64_t>(size_of(target.type)), destination.view})) {
    fail<ShapeError>(
        "the destination of shape {} reaches some elements more than once (a broadcast or overlapping view){}; write "
        "to "
        "an array, or to the part that was broadcast",
        to_text(shape), place(call_.where));
  }
  return destination;
}

/// The target, whose elements are found in the kernel, and the places, which are no memory.
void Drafting::resolve_scatter() {
  const Handle& handle = *call_.targets[0].handle;
  check_device(handle, "target", 0);
  const Shape updates =
      make_shape("scatter", {call_.scatter->shape, static_cast<std::size_t>(call_.scatter->rank)}, call_.where);
  Destination destination;
  destination.layout = handle.layout;
  destination.view = constant(updates);
  for (int t = 0; t < 2; ++t) {
    destinations_.push_back(destination);
    loops_.push_back(updates);
    draft_.targets.push_back({false, handle.layout});
  }
}

void Drafting::resolve_targets() {
  if (call_.scatter) return resolve_scatter();
  for (unsigned t = 0; t < call_.target_count; ++t) {
    const Shape& result = shapes_[trace_.graph.outputs[t]];
    destinations_.push_back(resolve_target(t, result));
    const Destination& destination = destinations_.back();
    loops_.push_back(destination.view.shape);
    draft_.targets.push_back({destination.allocate, destination.layout});
  }
}

}  // namespace kiln::dsl
