// dsl/scatter_report.h -- collects what the steps of a scatter would run.
#pragma once

#include <memory>
#include <string>

#include "dsl/kernels.h"
#include "dsl/owning_inspection.h"

namespace kiln::dsl {

/// Steps add inspections here instead of launching; nothing is computed.
class ScatterReport {
 public:
  /// `arch` null: that of `device`.
  ScatterReport(const char* arch, runtime::DeviceId device, detail::Where where);
  const char* arch() const { return arch_; }
  bool is_cuda() const { return machine_.traits.cuda; }
  /// A step that is an evaluation.
  void add(detail::Inspection* step);
  /// A kernel of the library's own.
  void add(const KernelSource& source, const char* what);
  void say(const std::string& line) { text_ += line + "\n"; }
  detail::Inspection* finish();

 private:
  const char* arch_;
  Machine machine_;
  std::unique_ptr<OwningInspection> owner_ = std::make_unique<OwningInspection>();
  std::string text_, graph_, dot_;
};

}  // namespace kiln::dsl
