// dsl/plan.h -- a finished decision: which kernels to launch with which argument blocks. Immutable once published.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <kiln/detail/bridge.h>

#include "runtime/runtime.h"

namespace kiln::dsl {

struct CompiledKernel;
struct LaunchTuning;
struct SpecializationRecord;

/// `block[at] = base[base] + bytes`.
struct PointerPatch {
  std::uint32_t at = 0;
  std::uint32_t base = 0;  ///< inputs, then targets, then temporaries
  std::int64_t bytes = 0;
};
/// `block[at] = value of index operand `slot` + offset`.
struct OffsetPatch {
  std::uint32_t at = 0;
  std::uint32_t slot = 0;
  std::int64_t offset = 0;
};
struct ScalarPatch {
  std::uint32_t at = 0;
  std::uint32_t slot = 0;
  DType type = DType::f32;
  std::uint8_t copy_bytes = 0;  ///< > 0: the value already has the form that the kernel takes
};

struct Launch {
  const runtime::LoadedKernel* kernel = nullptr;
  LaunchShape shape;
  std::vector<unsigned char> image;  ///< extents, strides and divisors; the rest is patched
  std::vector<PointerPatch> pointers;
  std::vector<OffsetPatch> offsets;
  std::vector<ScalarPatch> scalars;
  std::int64_t bytes_moved = 0, operations = 0;  ///< for profiles
  std::uint32_t counters_at = 0;                 ///< where the block points at LaunchShape::counters zeroed counters
  std::vector<std::shared_ptr<const void>> functions;  ///< keeps what host versions the block points to
  std::shared_ptr<const CompiledKernel> compiled;      ///< keeps the text that the log names
  std::shared_ptr<const LaunchTuning> tuning;          ///< null where `kernel` and `shape` are final
};

struct TargetPlan {
  bool allocate = false;  ///< a new array of `layout`; else the destination as it is
  const detail::Layout* layout = nullptr;
};

struct Plan {
  runtime::DeviceId device;
  runtime::Backend* backend = nullptr;
  std::vector<TargetPlan> targets;
  /// Bytes each, allocated for one call: values between kernels, results that overlap their operands, and the
  /// workspace of the kernels, which run one after another and share it.
  std::vector<std::uint64_t> temporaries;
  std::vector<Launch> launches;
  std::vector<std::uint32_t> non_negative;               ///< scalar slots that are exponents of integer powers
  std::shared_ptr<SpecializationRecord> specialization;  ///< of compiled functions, which counts its runs
  detail::Where where;  ///< in the traced lambda; null for inline expressions, which share plans
};

/// Allocates results, fills argument blocks, launches. Targets change only after everything is enqueued.
void run_plan(const Plan& plan, const detail::Call& call);

}  // namespace kiln::dsl
