// dsl/c/inspection.cpp -- kiln_inspect: what would be launched for given tensors.
#include "dsl/c/inspection.h"

#include "dsl/c/kernel.h"
#include "dsl/session.h"

using namespace kiln;
using namespace kiln::dsl::c;

namespace {

/// As for a launch; where only an architecture matters, nothing needs to be at the addresses.
detail::Handle bind_to_inspect(Operand& operand, const kiln_dl_tensor* tensor, bool is_for_arch, Role role,
                               std::uint64_t position) {
  if (!tensor) fail_argument("{} {} is null", role.name, role.number);
  TensorView view = view_of(*tensor);
  runtime::DeviceId device = names_device(tensor->device) ? device_named(tensor->device) : dsl::current_device();
  if (is_for_arch) {
    device = {};
    if (!view.data) view.data = reinterpret_cast<const void*>((position + 1) << 40);
  }
  return bind(operand, view, device, role);
}

detail::Inspection* inspect(kiln_kernel& kernel, const char* arch, const kiln_dl_tensor* const* inputs,
                            const kiln_dl_tensor* const* outputs) {
  const bool is_for_arch = arch && *arch;
  std::vector<detail::Handle> from(kernel.inputs.size()), to(kernel.outputs.size());
  std::vector<detail::Target> targets;
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = bind_to_inspect(kernel.inputs[i], inputs[i], is_for_arch, {"input", i}, i);
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (outputs) to[i] = bind_to_inspect(kernel.outputs[i], outputs[i], is_for_arch, {"output", i}, from.size() + i);
    targets.push_back({&to[i], kernel.outputs[i].type, outputs == nullptr});
  }
  std::vector<detail::ScalarArgument> scalars(kernel.scalars.size());
  for (std::size_t i = 0; i < scalars.size(); ++i) scalars[i].type = kernel.scalars[i];
  detail::Call call = kernel.call();
  call.inputs = from.data();
  call.targets = targets.data();
  call.scalars = scalars.data();
  return detail::inspect(kernel.site, call, arch);
}

const KernelInfo& kernel_of(const kiln_inspection& inspection, std::size_t kernel) {
  if (kernel >= inspection.data->kernel_count) fail_argument("kernel {} of {}", kernel, inspection.data->kernel_count);
  return inspection.data->kernels[kernel];
}

Text text_of(const kiln_inspection& inspection, std::int32_t which, std::size_t kernel) {
  switch (which) {
    case KILN_TEXT_explain:
      return inspection.data->explain;
    case KILN_TEXT_graph:
      return inspection.data->graph;
    case KILN_TEXT_dot:
      return inspection.data->dot;
    case KILN_TEXT_source:
      return kernel_of(inspection, kernel).source;
    case KILN_TEXT_ptx:
      return kernel_of(inspection, kernel).ptx;
    case KILN_TEXT_sass:
      return kernel_of(inspection, kernel).sass;
    case KILN_TEXT_name:
      return kernel_of(inspection, kernel).name;
    case KILN_TEXT_schedule:
      return kernel_of(inspection, kernel).schedule;
    default:
      fail_argument("{} is none of KILN_TEXT_...", which);
  }
}

}  // namespace

extern "C" {

kiln_status kiln_inspect(kiln_kernel* kernel, const char* arch, const kiln_dl_tensor* const* inputs,
                         std::size_t input_count, const kiln_dl_tensor* const* outputs, std::size_t output_count,
                         kiln_inspection** inspection) noexcept {
  return guarded("kiln_inspect", [&] {
    require(kernel, "kernel");
    require(inspection, "inspection");
    if (input_count != kernel->inputs.size() || (input_count > 0 && !inputs))
      fail_argument("{} inputs are given, and the graph has {}", inputs ? input_count : 0, kernel->inputs.size());
    if (outputs && output_count != kernel->outputs.size())
      fail_argument("{} outputs are given, and the graph has {}", output_count, kernel->outputs.size());
    *inspection = hand_out(::inspect(*kernel, arch, inputs, outputs));
  });
}

void kiln_inspection_destroy(kiln_inspection* inspection) noexcept { destroy_object(inspection); }

std::size_t kiln_inspection_kernel_count(const kiln_inspection* inspection) noexcept {
  return inspection ? inspection->data->kernel_count : 0;
}

kiln_status kiln_inspection_kernel(const kiln_inspection* inspection, std::size_t kernel,
                                   kiln_kernel_info* info) noexcept {
  return guarded("kiln_inspection_kernel", [&] {
    require(inspection, "inspection");
    require_writable(info, "info");
    const KernelInfo& found = kernel_of(*inspection, kernel);
    for (int i = 0; i < 3; ++i) {
      info->grid[i] = found.launch.grid[i];
      info->block[i] = found.launch.block[i];
    }
    info->registers = found.registers;
    info->spill_bytes = found.spills;
    info->shared_bytes = found.shared_bytes;
    info->reserved = 0;
    info->occupancy = found.occupancy;
    info->bytes_moved = found.bytes_moved;
    info->operations = found.operations;
  });
}

kiln_status kiln_inspection_text(const kiln_inspection* inspection, int32_t which, std::size_t kernel,
                                 const char** text) noexcept {
  return guarded("kiln_inspection_text", [&] {
    require(inspection, "inspection");
    require(text, "text");
    *text = text_of(*inspection, which, kernel).c_str();
  });
}

}  // extern "C"
