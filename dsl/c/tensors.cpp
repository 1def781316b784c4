// dsl/c/tensors.cpp -- tensors that the C interface makes, their copies, and scatters into tensors.
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>

#include <kiln/detail/program.h>

#include "dsl/array_memory.h"
#include "dsl/c/kernel.h"
#include "dsl/c/managed.h"
#include "dsl/c/scopes.h"
#include "dsl/c/tables.h"
#include "dsl/foreign.h"

namespace kiln::dsl::c {

void Managed::adopt(const detail::Handle& owned) noexcept {
  handle = owned;
  const detail::Layout& layout = *owned.layout;
  std::memcpy(shape, layout.shape, sizeof shape);
  std::memcpy(strides, layout.strides, sizeof strides);
  tensor.version = {KILN_DL_MAJOR_VERSION, KILN_DL_MINOR_VERSION};
  tensor.manager_ctx = this;
  tensor.deleter = [](kiln_dl_managed_tensor_versioned* self) {
    destroy_object(static_cast<Managed*>(self->manager_ctx));
  };
  tensor.dl_tensor.data = layout.size == 0 ? nullptr : owned.data;
  tensor.dl_tensor.device = dl_device(dsl::device_of(layout));
  tensor.dl_tensor.ndim = layout.rank;
  tensor.dl_tensor.dtype = dlpack_type(layout.dtype);
  tensor.dl_tensor.shape = shape;
  tensor.dl_tensor.strides = strides;
}

ManagedResults::ManagedResults(std::size_t count) {
  made_.reserve(count);
  try {
    for (std::size_t i = 0; i < count; ++i) made_.push_back(make_object<Managed>());
  } catch (...) {
    for (Managed* const managed : made_) destroy_object(managed);
    throw;
  }
}
ManagedResults::~ManagedResults() {
  for (Managed* const managed : made_) destroy_object(managed);
}
void ManagedResults::hand_over(kiln_dl_managed_tensor_versioned** tensors) noexcept {
  for (std::size_t i = 0; i < made_.size(); ++i) tensors[i] = &std::exchange(made_[i], nullptr)->tensor;
}

detail::Handle bind_any(const kiln_dl_tensor& tensor, const char* name, runtime::DeviceId device) {
  const TensorView view = view_of(tensor);
  Operand operand(view.type, -1);
  return bind(operand, view, names_device(tensor.device) ? device_named(tensor.device) : device, {name, 0});
}

namespace {

runtime::DeviceId device_of_tensor(const kiln_dl_tensor* tensor) {
  return names_device(tensor->device) ? device_named(tensor->device) : current_device();
}

/// For copies of whole tensors; the size of its elements must be that of the host's memory.
detail::Handle bind_packed(const kiln_dl_tensor* tensor, std::size_t bytes) {
  const detail::Handle handle = bind_any(*tensor, "tensor", current_device());
  const detail::Layout& layout = *handle.layout;
  if (!layout.contiguous) fail<ShapeError>("the tensor is not in C order without gaps");
  const std::size_t needed = static_cast<std::size_t>(layout.size) * size_of(layout.dtype);
  if (bytes != needed) fail<ShapeError>("{} bytes are given, and the tensor has {}", bytes, needed);
  return handle;
}

runtime::Backend& backend_to_copy(const detail::Handle& handle, void* stream) {
  runtime::Backend& backend = runtime::backend(dsl::device_of(*handle.layout));
  if (backend.is_capturing(stream))
    fail<DeviceError>("a copy to or from host memory cannot be captured into a graph; copy before or after");
  return backend;
}

void check_scatter(detail::Scattering operation, DType target, DType indices, DType updates) {
  if (!is_integer(indices)) fail<TypeError>("indices are integers, not {}", kiln::name_of(indices));
  if (target == DType::b1) fail<TypeError>("a target of type b1 has no sums; scatter into integers and compare");
  if (operation != detail::Scattering::add && is_complex(target)) fail<TypeError>("complex numbers have no order");
  const bool joins = is_complex(updates)    ? is_complex(target)
                     : is_floating(updates) ? is_floating(target) || is_complex(target)
                                            : true;
  if (!joins)
    fail<TypeError>("updates of type {} do not join elements of type {}; cast them", kiln::name_of(updates),
                    kiln::name_of(target));
}

/// The sites of an operation for three types, made when they are first needed and never freed.
detail::ScatterSites& sites_of(int operation, DType target, DType indices, DType updates) {
  static std::atomic<detail::ScatterSites*> table[3][dtype_count][dtype_count][dtype_count];
  auto& place = table[operation][static_cast<int>(target)][static_cast<int>(indices)][static_cast<int>(updates)];
  if (detail::ScatterSites* const known = place.load(std::memory_order_acquire)) return *known;
  auto fresh = std::make_unique<detail::ScatterSites>();
  detail::ScatterSites* expected = nullptr;
  if (place.compare_exchange_strong(expected, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  return *expected;
}

void scatter(std::int32_t operation, void* stream, const kiln_dl_tensor* target, std::int32_t axis,
             const kiln_dl_tensor* indices, const kiln_dl_tensor* updates) {
  const auto kind = static_cast<detail::Scattering>(operation - KILN_SCATTER_add);
  const runtime::DeviceId device = device_of_tensor(target);
  detail::Handle to = bind_any(*target, "target", device);
  const detail::Handle at = bind_any(*indices, "indices", device), from = bind_any(*updates, "updates", device);
  check_scatter(kind, to.layout->dtype, at.layout->dtype, from.layout->dtype);
  const auto slot = [](const detail::Handle& handle) { return __builtin_bit_cast(detail::Slot, handle); };
  const detail::Slot slots[] = {slot(at), slot(from)};
  const auto input = [](DType type) {
    return detail::Instruction{.kind = detail::Instruction::input, .type = type, .source = type};
  };
  const detail::Instruction code[] = {input(at.layout->dtype), input(from.layout->dtype)};
  const StreamScope scope(device, stream);
  detail::scatter(sites_of(operation - KILN_SCATTER_add, to.layout->dtype, at.layout->dtype, from.layout->dtype),
                  {.operation = kind, .unordered = false, .axis = axis, .type = to.layout->dtype}, to,
                  {&code[0], &slots[0], 1}, {&code[1], &slots[1], 1}, {});
}

}  // namespace
}  // namespace kiln::dsl::c

using namespace kiln;
using namespace kiln::dsl::c;

extern "C" {

kiln_status kiln_tensor_create(kiln_dl_device device, void* stream, int32_t dtype, const int64_t* shape, int32_t rank,
                               kiln_dl_managed_tensor_versioned** tensor) noexcept {
  return guarded("kiln_tensor_create", [&] {
    require(tensor, "tensor");
    if (rank < 0 || rank > KILN_MAX_RANK) fail<ShapeError>("{} axes; 0 to {} are possible", rank, KILN_MAX_RANK);
    if (rank > 0) require(shape, "shape");
    const runtime::DeviceId where = device_named(device);
    runtime::backend(where);  // says why it cannot be used
    const auto* const layout =
        detail::intern(checked_dtype(dtype), static_cast<int>(where.kind), where.index, shape, rank, nullptr);
    ManagedResults result(1);
    runtime::Storage* const storage =
        dsl::storage_for(where, static_cast<std::size_t>(layout->high), stream, "kiln_tensor_create", *layout, {});
    result.adopt(0, {reinterpret_cast<detail::Storage*>(storage), storage->memory, layout});
    result.hand_over(tensor);
  });
}

kiln_status kiln_tensor_upload(const kiln_dl_tensor* tensor, void* stream, const void* host,
                               std::size_t bytes) noexcept {
  return guarded("kiln_tensor_upload", [&] {
    require(tensor, "tensor");
    const detail::Handle handle = bind_packed(tensor, bytes);
    if (bytes == 0) return;
    require(host, "host");
    backend_to_copy(handle, stream).copy(handle.data, host, bytes, runtime::Backend::Copy::host_to_device, stream);
  });
}

kiln_status kiln_tensor_download(const kiln_dl_tensor* tensor, void* stream, void* host, std::size_t bytes) noexcept {
  return guarded("kiln_tensor_download", [&] {
    require(tensor, "tensor");
    const detail::Handle handle = bind_packed(tensor, bytes);
    if (bytes == 0) return;
    require(host, "host");
    runtime::Backend& backend = backend_to_copy(handle, stream);
    backend.copy(host, handle.data, bytes, runtime::Backend::Copy::device_to_host, stream);
    backend.synchronize(stream);
  });
}

kiln_status kiln_scatter(int32_t operation, void* stream, const kiln_dl_tensor* target, int32_t axis,
                         const kiln_dl_tensor* indices, const kiln_dl_tensor* updates) noexcept {
  return guarded("kiln_scatter", [&] {
    if (operation < KILN_SCATTER_add || operation > KILN_SCATTER_min)
      fail_argument("{} is none of KILN_SCATTER_...", operation);
    require(target, "target");
    require(indices, "indices");
    require(updates, "updates");
    scatter(operation, stream, target, axis, indices, updates);
  });
}

}  // extern "C"
