// dsl/tuning_jobs.cpp -- a drafted kernel as a tuning job.
#include "dsl/tuning_jobs.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "codegen/schedule/candidates.h"
#include "dsl/convert.h"
#include "runtime/tuning_job.h"
#include "support/env.h"
#include "support/files.h"
#include "support/log.h"

namespace kiln::dsl {
namespace {

using codegen::Argument;
using codegen::ArgumentKind;

constexpr std::uint64_t base_alignment = 16;  ///< the most that an alignment class promises

/// Does the loop alone say what memory the kernel touches?
bool is_told_by_the_loop(const codegen::Kernel& kernel) {
  return !kernel.has_folds() && !kernel.has_windows() &&
         std::none_of(kernel.accesses.begin(), kernel.accesses.end(),
                      [](const codegen::Access& access) { return access.gathered || access.gathers > 0; });
}

/// Memory for everything that the loop reads or writes of access `a`.
runtime::TuningJob::Buffer buffer_of(const DraftKernel& draft, const Argument& argument) {
  const LoopNest::Walk& walk = draft.nest.walks[argument.a];
  const auto size = static_cast<std::int64_t>(size_of(draft.kernel.accesses[argument.a].type));
  std::int64_t below = 0, above = 0;
  for (int axis = 0; axis < draft.nest.shape.rank; ++axis) {
    const std::int64_t reach = walk.strides[axis] * std::max<std::int64_t>(0, draft.nest.shape.extents[axis] - 1);
    (reach < 0 ? below : above) += reach;
  }
  runtime::TuningJob::Buffer buffer;
  buffer.at = argument.offset;
  buffer.offset = (static_cast<std::uint64_t>(-below * size) + base_alignment - 1) / base_alignment * base_alignment;
  buffer.bytes = buffer.offset + static_cast<std::uint64_t>((above + 1) * size) + base_alignment;
  return buffer;
}

void put_one(std::vector<std::uint8_t>& image, const Argument& argument, DType type) {
  detail::ScalarArgument one;
  one.type = DType::i64;
  const std::int64_t value = 1;
  std::memcpy(one.bytes, &value, sizeof value);
  convert_scalar(one, compute_type(type), image.data() + argument.offset);
}

runtime::TuningJob job_of(const DraftKernel& draft, std::span<const unsigned char> image, const Machine& machine,
                          const CodeFlags& flags) {
  runtime::TuningJob job;
  job.key = draft.tunable->key;
  job.options = compile_options(machine, flags);
  job.bytes = draft.bytes_moved;
  job.image.assign(image.begin(), image.end());
  for (const Argument& argument : codegen::argument_layout(draft.kernel).arguments) {
    if (argument.kind == ArgumentKind::pointer) job.buffers.push_back(buffer_of(draft, argument));
    if (argument.kind == ArgumentKind::workspace) job.workspace_at = static_cast<std::int32_t>(argument.offset);
    if (argument.kind == ArgumentKind::counters) job.counters_at = static_cast<std::int32_t>(argument.offset);
    if (argument.kind == ArgumentKind::parameter && !draft.parameters[argument.a].constant)
      put_one(job.image, argument, draft.parameters[argument.a].type);
  }
  for (const codegen::Candidate& candidate : draft.tunable->candidates)
    job.candidates.push_back({candidate.name, emit(draft.kernel, candidate.schedule, machine, flags),
                              codegen::launch_shape(draft.kernel, candidate.schedule, draft.extents)});
  job.name = job.candidates[0].source.entry;
  return job;
}

}  // namespace

void note_tuning_job(const DraftKernel& draft, std::span<const unsigned char> image, const Machine& machine,
                     const CodeFlags& flags) {
  if (!draft.tunable || flags.lineinfo || !is_told_by_the_loop(draft.kernel)) return;
  const std::string trace = setting("KILN_RECORD");
  if (trace.empty()) return;
  if (const int error = runtime::keep_job(trace + ".tuning", job_of(draft, image, machine, flags)))
    warn_once(fmt::format("KILN_RECORD: {}.tuning cannot be written: {}; `kiln tune` will know nothing of this program",
                          trace, files::error_text(error)));
}

}  // namespace kiln::dsl
