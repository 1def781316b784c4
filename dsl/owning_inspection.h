// dsl/owning_inspection.h -- the owner of the texts and machine code that a public Inspection points at.
#pragma once

#include <kiln/inspect.h>

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/runtime.h"

namespace kiln::dsl {

/// The machine code of a kernel as text, made when it is first read.
struct MachineCode {
  runtime::Binary binary;
  KernelSource source;
  CompileOptions options;
  std::atomic<const std::string*> text{nullptr};
  MachineCode() = default;
  MachineCode(const MachineCode&) = delete;
  MachineCode& operator=(const MachineCode&) = delete;
  ~MachineCode() { delete text.load(); }
};

struct OwningInspection : detail::Inspection {
  std::deque<std::string> texts;  // addresses stay
  std::deque<MachineCode> code;
  std::vector<KernelInfo> infos;
  std::vector<std::unique_ptr<OwningInspection>> parts;  ///< of a call of several steps: the texts of its kernels
  double peak_bandwidth = 0;                             ///< bytes per second; 0: unknown
  std::string device;
  Text keep(std::string text) { return texts.emplace_back(std::move(text)).c_str(); }
  Text keep_code(runtime::Binary binary, KernelSource source, CompileOptions options);
};

}  // namespace kiln::dsl
