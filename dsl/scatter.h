// dsl/scatter.h -- the ways in which updates join a target, once indices and shapes are known.
#pragma once

#include <kiln/detail/program.h>

#include "dsl/array_memory.h"

namespace kiln::dsl {

/// Contiguous memory: target (outer, bins, inner), keys (count), updates (outer, count, inner) of type `updates_type`.
/// A key outside [0, bins) is dropped.
struct ScatterJob {
  detail::Scattering operation = detail::Scattering::add;
  DType type = DType::f32;
  std::int64_t outer = 1, bins = 0, inner = 1, count = 0;
  const std::int32_t* keys = nullptr;
  const std::int64_t* far_keys = nullptr;  ///< instead of `keys`, for more bins than i32 counts; on the CPU only
  const void* updates = nullptr;
  bool one_update = false;  ///< `updates` is a single element
  void* target = nullptr;
};

/// The type in which updates of a target of `type` are added.
inline DType sum_type_of(DType type) { return compute_type(type); }

/// On the CPU: sorted by key, then joined in order, bins in parallel. Updates are of type sum_type_of(job.type).
void scatter_on_host(const ScatterJob& job);

/// Floats on a GPU, the same: counting sort by digits, then sums of runs in a fixed order. Enqueued on `stream`.
void scatter_sorted(const ScatterJob& job, runtime::DeviceId device, runtime::NativeStream stream);
/// Notes its kernels for all GPUs (dsl/usage.h). Of the job, `type`, `bins` and `count` matter.
void record_scatter_sorted(const ScatterJob& job, Where where);

/// The steps of either, where nothing is run.
class ScatterReport;
void report_sort(const ScatterJob& job, ScatterReport& report);

/// DeviceError where the CPU device records a graph: `what` takes steps that are no kernels there.
void refuse_in_cpu_graph(runtime::DeviceId device, const char* what, Where where);

/// u32 numbers of keys in their order, into `order`; see detail::order_by_key.
void order_on_host(const std::int32_t* keys, std::int64_t count, std::int64_t bins, std::uint32_t* order);
void order_on_gpu(const std::int32_t* keys, std::int64_t count, std::int64_t bins, std::uint32_t* order,
                  runtime::DeviceId device, runtime::NativeStream stream);

}  // namespace kiln::dsl
