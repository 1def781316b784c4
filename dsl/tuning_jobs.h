// dsl/tuning_jobs.h -- notes kernels for an offline tuner beside what KILN_RECORD notes.
#pragma once

#include <span>

#include "dsl/draft.h"

namespace kiln::dsl {

/// Where KILN_RECORD=trace.kiln is set: writes the kernel with its candidates into trace.kiln.tuning/. `image` is the
/// argument block as planned. Kernels that read by index or displaced are left out: their arguments say too little of
/// what they may read. An I/O error is warned about once.
void note_tuning_job(const DraftKernel& draft, std::span<const unsigned char> image, const Machine& machine,
                     const CodeFlags& flags);

}  // namespace kiln::dsl
