// dsl/scatter_report.cpp -- kernels and texts of the steps of a scatter, as one inspection.
#include "dsl/scatter_report.h"

#include <utility>

#include "dsl/session.h"
#include "support/check.h"

namespace kiln::dsl {

ScatterReport::ScatterReport(const char* arch, runtime::DeviceId device, detail::Where where)
    : arch_(arch && *arch ? arch : nullptr), machine_(arch_ ? machine_of_arch(arch_, where) : machine_of(device)) {
  if (arch_) return;
  const runtime::DeviceInfo& info = runtime::backend(device).info();
  owner_->peak_bandwidth = info.peak_bandwidth;
  owner_->device = info.name;
}

void ScatterReport::add(detail::Inspection* step) {
  std::unique_ptr<OwningInspection> part(static_cast<OwningInspection*>(step));
  for (const KernelInfo& info : part->infos) owner_->infos.push_back(info);
  text_ += part->explain.c_str();
  graph_ += part->graph.c_str();
  dot_ += part->dot.c_str();
  owner_->parts.push_back(std::move(part));
}

void ScatterReport::add(const KernelSource& source, const char* what) {
  const CompileOptions options = compile_options(machine_, {});
  runtime::Binary binary = runtime::compile(source, options, machine_.traits.cuda);
  KernelInfo& info = owner_->infos.emplace_back();
  info.name = owner_->keep(binary.entry.empty() ? source.entry : binary.entry);
  info.source = owner_->keep(source.text);
  info.ptx = owner_->keep(binary.ptx);
  info.arch = owner_->keep(machine_.arch);
  info.log = owner_->keep(binary.log);
  info.schedule = owner_->keep(what);
  info.registers = binary.registers;
  info.spills = binary.spill_bytes;
  info.shared_bytes = binary.shared_bytes;
  say(fmt::format("{}: {}", source.entry, what));
  info.sass = owner_->keep_code(std::move(binary), source, options);
}

detail::Inspection* ScatterReport::finish() {
  owner_->explain = owner_->keep(text_);
  owner_->graph = owner_->keep(graph_);
  owner_->dot = owner_->keep(dot_);
  owner_->kernels = owner_->infos.data();
  owner_->kernel_count = static_cast<unsigned>(owner_->infos.size());
  return owner_.release();
}

}  // namespace kiln::dsl
