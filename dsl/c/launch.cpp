// dsl/c/launch.cpp -- kiln_launch and its like: tensors to a call of the site, as kl::Jit's calls go.
#include <cstring>

#include "dsl/array_memory.h"
#include "dsl/c/function.h"
#include "dsl/c/kernel.h"
#include "dsl/c/managed.h"
#include "dsl/c/recording.h"
#include "dsl/c/scopes.h"
#include "dsl/c/tables.h"
#include "dsl/short_list.h"

namespace kiln::dsl::c {

detail::LaunchControl launch_control(const kiln_launch_options* options) {
  detail::LaunchControl control;
  if (!options) return control;
  require_known(options, "options");
  require_zero(options->reserved, "options->reserved");
  for (int i = 0; i < 3; ++i) {
    control.grid[i] = options->grid[i];
    control.block[i] = options->block[i];
  }
  // As {x} and {x, y} of C++: what is not given along y and z is 1.
  for (unsigned* const extents : {control.grid, control.block})
    for (int i = 1; i < 3; ++i)
      if (extents[0] != 0 && extents[i] == 0) extents[i] = 1;
  control.items = options->items;
  control.shared_bytes = options->shared_bytes;
  control.cluster = options->cluster;
  control.cooperative = flag(options->cooperative, "options->cooperative");
  control.tune = !flag(options->no_tune, "options->no_tune");
  return control;
}

namespace {

using detail::Handle;

constexpr std::size_t usual_tensors = 16, usual_scalars = 8;

[[gnu::cold, gnu::noinline]] void refuse_count(const char* what, std::size_t given, std::size_t needed) {
  fail_argument("{} {} are given, and the graph has {}", given, what, needed);
}

void check_count(const char* what, std::size_t given, std::size_t needed, const void* list) {
  if (given != needed) [[unlikely]]
    refuse_count(what, given, needed);
  if (needed > 0 && !list) [[unlikely]]
    fail_argument("the list of {} is null", what);
}

/// The operands of one launch, on the stack.
class Operands {
 public:
  explicit Operands(kiln_kernel& kernel)
      : kernel_(kernel),
        inputs_(kernel.inputs.size()),
        outputs_(kernel.outputs.size()),
        targets_(kernel.outputs.size()),
        scalars_(kernel.scalars.size()) {}

  void set_scalars(const void* const* scalars, std::size_t count) {
    check_count("scalars", count, kernel_.scalars.size(), scalars);
    for (std::size_t i = 0; i < count; ++i) {
      if (!scalars[i]) [[unlikely]]
        fail_argument("scalar {} is null", i);
      scalars_[i] = {};
      scalars_[i].type = kernel_.scalars[i];
      std::memcpy(scalars_[i].bytes, scalars[i], size_of(kernel_.scalars[i]));
    }
  }
  void set_input(std::size_t i, const TensorView& tensor, runtime::DeviceId device) {
    inputs_[i] = bind(kernel_.inputs[i], tensor, device, {"input", i});
  }
  void set_output(std::size_t i, const TensorView& tensor, runtime::DeviceId device) {
    outputs_[i] = bind(kernel_.outputs[i], tensor, device, {"output", i});
    targets_[i] = {&outputs_[i], kernel_.outputs[i].type, false};
  }
  void set_new_output(std::size_t i) {
    outputs_[i] = {};
    targets_[i] = {&outputs_[i], kernel_.outputs[i].type, true};
  }
  const Handle& output(std::size_t i) { return outputs_[i]; }

  detail::Call call() {
    detail::Call call = kernel_.call();
    call.inputs = inputs_.data();
    call.scalars = scalars_.data();
    call.targets = targets_.data();
    return call;
  }
  void launch(void* stream) {
    detail::LaunchControl control;
    control.stream = stream;
    control.has_stream = true;
    launch(control);
  }
  void launch(const detail::LaunchControl& control) {
    detail::Call call = this->call();
    call.launch = &control;
    detail::execute(kernel_.site, call);
    // The host's threads may have failed where nobody could throw.
    if (const char* const failure = take_callback_failure()) [[unlikely]]
      throw Fault(KILN_ERROR_CALLBACK, failure);
    for (const auto& callee : kernel_.program.callees()) {
      note_captured_function(callee);
      callee->check_host();
    }
  }

 private:
  kiln_kernel& kernel_;
  ShortList<Handle, usual_tensors> inputs_, outputs_;
  ShortList<detail::Target, usual_tensors> targets_;
  ShortList<detail::ScalarArgument, usual_scalars> scalars_;
};

/// Where the tensors are: the first that says so; else the thread's current device.
runtime::DeviceId common_device(const kiln_dl_tensor* const* inputs, std::size_t input_count,
                                const kiln_dl_tensor* const* outputs, std::size_t output_count) {
  for (std::size_t i = 0; i < input_count; ++i) {
    if (!inputs[i]) [[unlikely]]
      fail_argument("input {} is null", i);
    if (names_device(inputs[i]->device)) [[likely]]
      return device_named(inputs[i]->device);
  }
  for (std::size_t i = 0; i < output_count; ++i) {
    if (outputs[i] && names_device(outputs[i]->device)) return device_named(outputs[i]->device);
  }
  return current_device();
}

void set_inputs(Operands& operands, const kiln_dl_tensor* const* inputs, std::size_t count, runtime::DeviceId device) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!inputs[i]) [[unlikely]]
      fail_argument("input {} is null", i);
    operands.set_input(i, view_of(*inputs[i]),
                       names_device(inputs[i]->device) ? device_named(inputs[i]->device) : device);
  }
}

void set_outputs(Operands& operands, const kiln_dl_tensor* const* outputs, std::size_t count,
                 runtime::DeviceId device) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!outputs[i]) [[unlikely]]
      fail_argument("output {} is null", i);
    operands.set_output(i, view_of(*outputs[i]),
                        names_device(outputs[i]->device) ? device_named(outputs[i]->device) : device);
  }
}

/// kiln_launch with some control.
void launch(kiln_kernel* kernel, const detail::LaunchControl& control, const kiln_dl_tensor* const* inputs,
            std::size_t input_count, const void* const* scalars, std::size_t scalar_count,
            const kiln_dl_tensor* const* outputs, std::size_t output_count) {
  require(kernel, "kernel");
  check_count("inputs", input_count, kernel->inputs.size(), static_cast<const void*>(inputs));
  check_count("outputs", output_count, kernel->outputs.size(), static_cast<const void*>(outputs));
  Operands operands(*kernel);
  operands.set_scalars(scalars, scalar_count);
  const runtime::DeviceId device = common_device(inputs, input_count, outputs, output_count);
  set_inputs(operands, inputs, input_count, device);
  set_outputs(operands, outputs, output_count, device);
  operands.launch(control);
}

}  // namespace
}  // namespace kiln::dsl::c

using namespace kiln;
using namespace kiln::dsl::c;

extern "C" {

kiln_status kiln_launch(kiln_kernel* kernel, void* stream, const kiln_dl_tensor* const* inputs, std::size_t input_count,
                        const void* const* scalars, std::size_t scalar_count, const kiln_dl_tensor* const* outputs,
                        std::size_t output_count) noexcept {
  return guarded("kiln_launch", [&] {
    detail::LaunchControl control;
    control.stream = stream;
    control.has_stream = true;
    launch(kernel, control, inputs, input_count, scalars, scalar_count, outputs, output_count);
  });
}

kiln_status kiln_launch_with(kiln_kernel* kernel, const kiln_launch_options* options, void* stream,
                             const kiln_dl_tensor* const* inputs, std::size_t input_count, const void* const* scalars,
                             std::size_t scalar_count, const kiln_dl_tensor* const* outputs,
                             std::size_t output_count) noexcept {
  return guarded("kiln_launch_with", [&] {
    detail::LaunchControl control = launch_control(options);
    control.stream = stream;
    control.has_stream = true;
    launch(kernel, control, inputs, input_count, scalars, scalar_count, outputs, output_count);
  });
}

kiln_status kiln_launch_by(const kiln_launch_call* call) noexcept {
  return guarded("kiln_launch_by", [&] {
    require(call, "call");
    require_known(call, "call");
    detail::LaunchControl control = launch_control(call->options);
    control.stream = call->stream;
    control.has_stream = true;
    launch(call->kernel, control, call->inputs, call->input_count, call->scalars, call->scalar_count, call->outputs,
           call->output_count);
  });
}

kiln_status kiln_launch_raw(kiln_kernel* kernel, kiln_dl_device device, void* stream, const kiln_tensor* inputs,
                            std::size_t input_count, const void* const* scalars, std::size_t scalar_count,
                            const kiln_tensor* outputs, std::size_t output_count) noexcept {
  return guarded("kiln_launch_raw", [&] {
    require(kernel, "kernel");
    check_count("inputs", input_count, kernel->inputs.size(), inputs);
    check_count("outputs", output_count, kernel->outputs.size(), outputs);
    Operands operands(*kernel);
    operands.set_scalars(scalars, scalar_count);
    const runtime::DeviceId where = device_named(device);
    for (std::size_t i = 0; i < input_count; ++i) operands.set_input(i, view_of(inputs[i]), where);
    for (std::size_t i = 0; i < output_count; ++i) operands.set_output(i, view_of(outputs[i]), where);
    operands.launch(stream);
  });
}

kiln_status kiln_launch_new(kiln_kernel* kernel, void* stream, const kiln_dl_tensor* const* inputs,
                            std::size_t input_count, const void* const* scalars, std::size_t scalar_count,
                            kiln_dl_managed_tensor_versioned** outputs, std::size_t output_count) noexcept {
  return guarded("kiln_launch_new", [&] {
    require(kernel, "kernel");
    check_count("inputs", input_count, kernel->inputs.size(), static_cast<const void*>(inputs));
    check_count("outputs", output_count, kernel->outputs.size(), static_cast<const void*>(outputs));
    Operands operands(*kernel);
    operands.set_scalars(scalars, scalar_count);
    const DeviceScope device(common_device(inputs, input_count, nullptr, 0));
    set_inputs(operands, inputs, input_count, dsl::current_device());
    ManagedResults results(output_count);
    for (std::size_t i = 0; i < output_count; ++i) operands.set_new_output(i);
    const auto adopt = [&] {
      for (std::size_t i = 0; i < output_count; ++i)
        if (operands.output(i).layout) results.adopt(i, operands.output(i));
    };
    try {
      operands.launch(stream);
    } catch (...) {
      adopt();  // freed with the results
      throw;
    }
    adopt();
    results.hand_over(outputs);
  });
}

}  // extern "C"
