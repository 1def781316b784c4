// dsl/order.cpp -- numbers of elements in the order of their keys, on either device.
#include <kiln/detail/program.h>

#include "dsl/out_of_memory.h"
#include "dsl/scatter.h"
#include "dsl/session.h"
#include "dsl/shapes.h"
#include "runtime/recorder.h"
#include "support/check.h"

namespace kiln::detail {

Handle order_by_key(const Handle& keys, std::int64_t bins, Where where) try {
  const std::int64_t count = keys.layout->size;
  if (bins >= INT32_MAX || count >= INT32_MAX)
    fail<ShapeError>("{} indices of {} elements{}: 2^31 is more than can be sorted; work in parts", count, bins,
                     dsl::place(where));
  const runtime::DeviceId device = dsl::device_of(*keys.layout);
  dsl::refuse_in_cpu_graph(device, "joining by index (kl::ufunc::at)", where);
  dsl::Shape shape;
  shape.rank = 1;
  shape.extents[0] = count;
  dsl::OwnedHandle order = dsl::allocate_on(device, DType::u32, shape, "sorting by index", where);
  if (runtime::is_recording_kernels() && device.kind == runtime::DeviceKind::cpu) [[unlikely]] {
    dsl::ScatterJob job;  // what a GPU would sort with
    job.count = count;
    dsl::record_scatter_sorted(job, where);
  }
  const auto* from = static_cast<const std::int32_t*>(keys.data);
  auto* const to = static_cast<std::uint32_t*>(order.get().data);
  if (device.kind == runtime::DeviceKind::cpu) {
    dsl::order_on_host(from, count, bins, to);
  } else {
    const runtime::NativeStream stream = dsl::current_stream(device);
    runtime::note_use(*dsl::storage_of(keys), stream);
    dsl::order_on_gpu(from, count, bins, to, device, stream);
  }
  return order.take();
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("sort", where);
}

}  // namespace kiln::detail
