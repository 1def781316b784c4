// dsl/usage.h -- KILN_RECORD: what a call would launch on every kind of machine, noted when its plan is made.
#pragma once

#include <string>

#include "dsl/draft.h"

namespace kiln::dsl {

/// Notes the kernels of the call for all targets of bundles (runtime/recorder.h), if kernels are recorded. A
/// target that cannot run the call is left out. Launches nothing and compiles nothing.
void record_call(const Trace& trace, const detail::Call& call, runtime::DeviceId device);

/// What a kernel computes, from which types and layouts, by which schedule: the title that bundles give it.
/// "x * y: f32[contiguous] aligned to 16, f32[...] -> f32[...]; schedule: flat, 256 threads per block"
std::string title_of(const DraftKernel& draft, const KernelSource& source);

/// Notes a kernel that kiln did not plan, for all GPUs: the user's own, or one of the library's.
void record_cuda_kernel(const KernelSource& source, const CompileOptions& options, const std::string& title,
                        const std::string& place);

/// While one lives, calls of this thread are noted and not run: their operands and destinations are not touched. For
/// the ways that other devices would take.
class OnlyRecording {
 public:
  OnlyRecording();
  ~OnlyRecording();
  OnlyRecording(const OnlyRecording&) = delete;
  OnlyRecording& operator=(const OnlyRecording&) = delete;
};

}  // namespace kiln::dsl
