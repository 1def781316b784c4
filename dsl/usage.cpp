// dsl/usage.cpp -- drafts each recorded call once per target.
#include "dsl/usage.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "dsl/drafting.h"
#include "dsl/session.h"
#include "dsl/shapes.h"
#include "runtime/bundle/choose.h"
#include "runtime/kernel_identity.h"
#include "runtime/recorder.h"
#include "support/check.h"
#include "support/log.h"

namespace kiln::dsl {
namespace {

using runtime::RecordedKernel;

std::string access_text(const codegen::Access& access) {
  std::string text{name_of(access.type)};
  if (access.gathered) return text + " taken by index";
  text += '[';
  for (const codegen::AxisClass axis : access.axes) {
    if (text.back() != '[') text += ',';
    text += axis == codegen::AxisClass::contiguous  ? "contiguous"
            : axis == codegen::AxisClass::broadcast ? "broadcast"
                                                    : "strided";
  }
  return text + fmt::format("] aligned to {}", access.alignment);
}

/// The line of the source's head that tells the schedule.
std::string_view schedule_of(std::string_view text) {
  constexpr std::string_view mark = " schedule: ";
  const std::string_view head = text.substr(0, text.find("\n\n"));
  const std::size_t at = head.find(mark);
  if (at == head.npos) return {};
  const std::string_view rest = head.substr(at + mark.size());
  return rest.substr(0, rest.find('\n'));
}

}  // namespace

std::string title_of(const DraftKernel& draft, const KernelSource& source) {
  const codegen::Kernel& kernel = draft.kernel;
  std::string loads, stores;
  for (const codegen::Access& access : kernel.accesses) {
    if (access.iota || access.places) continue;
    std::string& list = access.store ? stores : loads;
    list += (list.empty() ? "" : ", ") + access_text(access);
  }
  for (const DType type : kernel.parameters)
    loads += fmt::format("{}{} scalar", loads.empty() ? "" : ", ", name_of(type));
  const std::string_view schedule = schedule_of(source.text);
  return fmt::format("{}: {} -> {}{}{}{}", kernel.comment, loads, stores,
                     kernel.index == codegen::IndexWidth::bits64 ? "; 64-bit index" : "",
                     schedule.empty() ? "" : "; schedule: ", schedule);
}

namespace {

/// The kernels of one call, by identity.
class CallRecord {
 public:
  CallRecord(const Trace& trace, const detail::Call& call, runtime::DeviceId device)
      : trace_(trace), call_(call), device_(device) {}

  void add(const std::string& target, const Machine& machine) {
    if (call_.scatter && !machine.traits.cuda) return;  // the CPU takes another way
    try {
      const Draft planned = draft(trace_, call_, device_, machine);
      for (const DraftKernel& kernel : planned.kernels) add(target, machine, kernel);
    } catch (const Error& error) {
      KILN_LOG(2, "not recorded for {}: {}", target, error.what());
    }
  }

  void write() {
    for (auto& [identity, kernel] : kernels_) runtime::record_kernel(std::move(kernel));
  }

 private:
  void add(const std::string& target, const Machine& machine, const DraftKernel& kernel) {
    const CodeFlags flags{call_.options.contract, call_.options.fast_math, call_.options.lineinfo};
    KernelSource source = emit(kernel.kernel, kernel.schedule, machine, flags);
    CompileOptions options = compile_options(machine, flags);
    options.arch.clear();
    RecordedKernel& record = kernels_[runtime::kernel_identity(source, options)];
    if (record.targets.empty()) {
      record.title = title_of(kernel, source);
      record.place = (call_.name ? call_.name : "expression") + place(call_.where);
      record.source = std::move(source);
      record.options = std::move(options);
    }
    if (std::find(record.targets.begin(), record.targets.end(), target) == record.targets.end())
      record.targets.push_back(target);
  }

  const Trace& trace_;
  const detail::Call& call_;
  runtime::DeviceId device_;
  std::map<Digest, RecordedKernel> kernels_;
};

}  // namespace

void record_call(const Trace& trace, const detail::Call& call, runtime::DeviceId device) {
  if (!runtime::is_recording_kernels()) return;
  const Machine here = machine_of(device);
  CallRecord record(trace, call, device);
  for (const std::string& target : recorded_targets()) {
    Machine machine = machine_of_target(target, here);
    record.add(target, machine);
    // This machine's own plans too, for those of its kind: a CPU with other threads, a card with other multiprocessors.
    const bool is_own = here.traits.cuda ? target == here.arch : !machine.traits.cuda;
    if (is_own && here.traits.cuda) record.add(target, here);  // with schedules that tuning found
    if (!is_own || machine.traits.multiprocessors == here.traits.multiprocessors) continue;
    machine.traits.multiprocessors = here.traits.multiprocessors;
    machine.traits.threads_per_multiprocessor = here.traits.threads_per_multiprocessor;
    record.add(target, machine);
  }
  record.write();
}

void record_cuda_kernel(const KernelSource& source, const CompileOptions& options, const std::string& title,
                        const std::string& place) {
  if (!runtime::is_recording_kernels()) return;
  RecordedKernel record;
  record.source = source;
  record.options = options;
  record.options.arch.clear();
  record.title = title;
  record.place = place;
  for (std::string& target : recorded_targets())
    if (runtime::kind_of_target(target) == runtime::ImageKind::cubin) record.targets.push_back(std::move(target));
  runtime::record_kernel(std::move(record));
}

OnlyRecording::OnlyRecording() { ++thread_state().only_recording; }
OnlyRecording::~OnlyRecording() { --thread_state().only_recording; }

}  // namespace kiln::dsl
