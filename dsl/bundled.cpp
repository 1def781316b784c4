// dsl/bundled.cpp -- drafts a call for one target after the other until all its kernels are found.
#include "dsl/bundled.h"

#include <algorithm>
#include <optional>

#include "dsl/drafting.h"
#include "dsl/shapes.h"
#include "dsl/usage.h"
#include "runtime/compile_mode.h"
#include "runtime/loaded_bundles.h"
#include "support/check.h"
#include "support/log.h"

namespace kiln::dsl {
namespace {

CodeFlags flags_of(const detail::Call& call) {
  return {call.options.contract, call.options.fast_math, call.options.lineinfo};
}

bool is_in_bundles(const PlannedCall& planned, const detail::Call& call) {
  const CodeFlags flags = flags_of(call);
  return std::all_of(planned.draft.kernels.begin(), planned.draft.kernels.end(), [&](const DraftKernel& kernel) {
    return runtime::find_in_bundles(emit(kernel.kernel, kernel.schedule, planned.machine, flags),
                                    compile_options(planned.machine, flags))
        .has_value();
  });
}

/// True where a schedule was found by tuning, perhaps after the bundle was made.
bool is_tuned(const Draft& draft) {
  return std::any_of(draft.kernels.begin(), draft.kernels.end(), [](const DraftKernel& kernel) {
    return kernel.tunable && kernel.tunable->record &&
           kernel.tunable->record->choice != kernel.tunable->record->heuristic;
  });
}

bool same_traits(const codegen::DeviceTraits& a, const codegen::DeviceTraits& b) {
  return a.multiprocessors == b.multiprocessors && a.threads_per_multiprocessor == b.threads_per_multiprocessor &&
         a.l2_bytes == b.l2_bytes && a.compute_capability == b.compute_capability &&
         a.cpu_vector_bits == b.cpu_vector_bits;
}

/// The device itself first, then the typical machines of the targets, without repetition.
std::vector<Machine> machines_to_plan_for(const Machine& device) {
  std::vector<Machine> machines = {device};
  for (const std::string& target : runtime::usable_bundle_targets(device.arch)) {
    Machine machine = machine_of_target(target, device);
    const bool known = std::any_of(machines.begin(), machines.end(), [&](const Machine& other) {
      return other.arch == machine.arch && same_traits(other.traits, machine.traits);
    });
    if (!known) machines.push_back(std::move(machine));
  }
  return machines;
}

/// A target that cannot run the call, for instance with the clusters that it asks for, is passed over.
std::optional<PlannedCall> try_draft(const Trace& trace, const detail::Call& call, runtime::DeviceId device,
                                     const Machine& machine) {
  try {
    return PlannedCall{draft(trace, call, device, machine), machine};
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Why one kernel of one plan is in no bundle.
struct Missing {
  std::string entry, expression;
  runtime::BundleRejection rejection;
};

std::vector<Missing> missing_kernels(const std::vector<PlannedCall>& attempts, const detail::Call& call) {
  const CodeFlags flags = flags_of(call);
  std::vector<Missing> all;
  for (const PlannedCall& attempt : attempts) {
    for (const DraftKernel& kernel : attempt.draft.kernels) {
      KernelSource source = emit(kernel.kernel, kernel.schedule, attempt.machine, flags);
      source.title = title_of(kernel, source);
      std::vector<runtime::BundleRejection> reasons;
      if (runtime::find_in_bundles(source, compile_options(attempt.machine, flags), &reasons)) continue;
      for (runtime::BundleRejection& reason : reasons)
        all.push_back({source.entry, source.expression, std::move(reason)});
    }
  }
  return all;
}

[[noreturn]] void fail_missing(const std::vector<PlannedCall>& attempts, const detail::Call& call,
                               const Machine& device) {
  const std::vector<Missing> all = missing_kernels(attempts, call);
  const std::string name = all.empty() ? "" : all.front().entry;
  std::vector<std::string> lines;
  for (const Missing& missing : all) {
    // What a bundle holds in place of the kernel of one plan says nothing where it has that of another plan.
    const bool is_answered = !missing.rejection.is_candidate && !missing.rejection.bundle.empty() &&
                             std::any_of(all.begin(), all.end(), [&](const Missing& other) {
                               return other.rejection.is_candidate &&
                                      other.rejection.bundle == missing.rejection.bundle &&
                                      other.expression == missing.expression;
                             });
    if (is_answered) continue;
    std::string line = to_text(missing.rejection);
    if (missing.entry != name) line += fmt::format(" (kernel {})", missing.entry);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
  }
  const std::string user = (call.name ? call.name : "an expression") + place(call.where);
  fail<CompileError>("{}",
                     runtime::missing_kernel_text(fmt::format("kernel {} of {}", name, user), device.arch, lines));
}

}  // namespace

PlannedCall plan_call(const Trace& trace, const detail::Call& call, runtime::DeviceId device, const Machine& machine) {
  PlannedCall own{draft(trace, call, device, machine), machine};
  if (!runtime::looks_in_bundles() || is_in_bundles(own, call)) return own;
  std::vector<PlannedCall> attempts;
  if (is_tuned(own.draft)) {
    Machine untuned = machine;
    untuned.name.clear();
    PlannedCall usual{draft(trace, call, device, untuned), untuned};
    if (is_in_bundles(usual, call)) return usual;
  }
  attempts.push_back(std::move(own));
  for (const Machine& other : machines_to_plan_for(machine)) {
    if (other.arch == machine.arch && same_traits(other.traits, machine.traits)) continue;
    std::optional<PlannedCall> planned = try_draft(trace, call, device, other);
    if (!planned) continue;
    if (is_in_bundles(*planned, call)) {
      KILN_LOG(3, "planned for a typical machine of {} with {} multiprocessors, whose kernels are in a bundle{}",
               other.traits.cuda ? fmt::format("sm_{}", other.traits.compute_capability) : other.arch,
               other.traits.multiprocessors, place(call.where));
      return std::move(*planned);
    }
    attempts.push_back(std::move(*planned));
  }
  if (runtime::compile_mode() == runtime::CompileMode::bundle_only) fail_missing(attempts, call, machine);
  return std::move(attempts.front());
}

}  // namespace kiln::dsl
