// dsl/machines.h -- what kernels are generated for: the devices that are here, and the machine that each target of a
// bundle stands for, which is the same wherever a plan is made.
//
// Plans depend on a device's multiprocessors and the like, and devices of one architecture differ in them. A bundle
// holds the kernels of plans made for one typical card of each architecture; a machine whose own plan is not in it
// makes the plan of that card, and launches that.
#pragma once

#include <string>
#include <vector>

#include <kiln/detail/bridge.h>

#include "codegen/schedule/schedule.h"
#include "runtime/runtime.h"

namespace kiln::dsl {

/// What a kernel is generated and compiled for.
struct Machine {
  runtime::DeviceId device;
  std::string arch;  ///< "sm_90", or the CPU's feature string
  codegen::DeviceTraits traits;
  std::string name = {};  ///< of a device that is here: "NVIDIA H200"; what was found by tuning it applies to it
};
/// The machine that `device` is. Throws DeviceError when it cannot be used.
Machine machine_of(runtime::DeviceId device);
/// The machine of an architecture named by the user, which need not be present: "sm_80", "compute_90", "x86-64-v3", ...
Machine machine_of_arch(const std::string& arch, detail::Where where = {});

/// The targets that a record is made for: one per kind of card whose plans may differ, and the CPUs' baselines.
std::vector<std::string> recorded_targets();

/// The typical machine of a target of a bundle ("sm_90a", "ptx_80", "x86-64-v3"). Its `arch` is that of `device`, on
/// which images for the target are to be loaded, or on CPUs the target's features.
Machine machine_of_target(const std::string& target, const Machine& device);

}  // namespace kiln::dsl
