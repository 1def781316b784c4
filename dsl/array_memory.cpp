// dsl/array_memory.cpp -- allocation, borrowing and copies behind the bridge.
#include "dsl/array_memory.h"

#include <algorithm>
#include <cstring>

#include "dsl/out_of_memory.h"
#include "dsl/session.h"
#include "dsl/tracing.h"
#include "dsl/usage.h"
#include "runtime/activity.h"
#include "runtime/recorder.h"
#include "runtime/recording.h"
#include "support/check.h"
#include "support/log.h"

namespace kiln::dsl {

using detail::Handle;
using detail::Layout;
using runtime::Backend;
using runtime::DeviceId;
using runtime::DeviceKind;
using runtime::NativeStream;
using Copy = runtime::Backend::Copy;

OwnedHandle allocate_on(DeviceId device, DType type, const Shape& shape, const char* operation, Where where) {
  const Layout* layout = intern(type, device, contiguous(operation, shape, where), operation, where);
  const std::size_t bytes = std::max<std::size_t>(static_cast<std::size_t>(layout->high), 1);
  backend_for(device, operation, where);
  runtime::Storage* storage = storage_for(device, bytes, current_stream(device), operation, *layout, where);
  return OwnedHandle({reinterpret_cast<detail::Storage*>(storage), storage->memory, layout});
}

Backend& backend_for(DeviceId device, const char* operation, Where where) {
  try {
    return runtime::backend(device);
  } catch (const DeviceError& error) {
    fail<DeviceError>("[{}]{}: {}", operation, place(where), error.what());
  }
}

runtime::Storage* storage_for(DeviceId device, std::size_t bytes, NativeStream stream, const char* operation,
                              const Layout& layout, Where where) {
  try {
    return runtime::allocate_storage(device, bytes, stream);
  } catch (const OutOfMemory& error) {
    fail<OutOfMemory>(
        "[{}] no memory for shape {} of {}{}: {}. Release arrays that are no longer needed, or compute in parts",
        operation, to_text(shape_of(layout)), name_of(layout.dtype), place(where), error.what());
  }
}

Handle reinterpreted(const Handle& handle, DType type) {
  if (handle.layout->dtype == type) return handle;
  return {handle.storage, handle.data, intern(type, device_of(*handle.layout), strided_of(*handle.layout))};
}

namespace {

std::string name_of(DeviceId device) {
  return device.kind == DeviceKind::cpu ? std::string("cpu") : fmt::format("cuda:{}", device.index);
}

std::size_t bytes_of(const Layout& layout) { return static_cast<std::size_t>(layout.size) * size_of(layout.dtype); }

/// Throws when the copy would have to wait for a stream that is being captured into a graph.
void check_not_capturing(const char* operation, Backend& backend, NativeStream stream, Where where) {
  if (runtime::recording_of(backend, stream) || backend.is_capturing(stream)) {
    fail<DeviceError>(
        "[{}] cannot wait for work that is being captured into a graph{}; copy before or after the capture", operation,
        place(where));
  }
}

/// Copies are exact for every bit pattern: elements travel as unsigned integers of their size. Complex numbers stay
/// what they are, since their memory may be aligned to their parts only.
DType carrier(DType type) {
  if (is_complex(type)) return type;
  switch (size_of(type)) {
    case 1:
      return DType::u8;
    case 2:
      return DType::u16;
    case 4:
      return DType::u32;
    default:
      return DType::u64;
  }
}

/// One copy, seen by profiles and tools.
template <class Work>
void copy_activity(const char* name, DeviceId device, NativeStream stream, const Layout& layout, Where where,
                   Work work) {
  const std::string label = where.file && runtime::is_observed() ? place(where).substr(1) : "";  // "(app.cpp:12)"
  const runtime::Activity activity{.kind = runtime::Activity::Kind::copy,
                                   .backend = &runtime::backend(device),
                                   .stream = stream,
                                   .name = name,
                                   .label = label,
                                   .bytes = static_cast<std::int64_t>(bytes_of(layout))};
  KILN_LOG(2, "{}: {} bytes on {}", name, activity.bytes, name_of(device));
  runtime::observe(activity, work);
}

void trace_identity(detail::Recorder& recorder, const void* environment, detail::NodeId* outputs) {
  outputs[0] = detail::record_input(recorder, 0, *static_cast<const DType*>(environment));
}

/// Into `result`, which is empty or has elements of the source's carrier.
void run_copy(const Handle& source, Handle& result, Where where) {
  static detail::Site sites[dtype_count];  // one expression per element type
  const DType type = carrier(source.layout->dtype);
  const Handle input = reinterpreted(source, type);
  detail::Target target{&result, type, result.layout == nullptr};
  detail::Call call;
  call.inputs = &input;
  call.input_count = 1;
  call.targets = &target;
  call.target_count = 1;
  call.trace = &trace_identity;
  call.environment = &type;
  call.name = "copy";
  call.where = where;
  detail::execute(sites[static_cast<int>(type)], call);
}

}  // namespace

void copy_by_kernel(const Handle& source, const Handle& to, Where where) {
  Handle result = reinterpreted(to, carrier(to.layout->dtype));
  run_copy(source, result, where);
}

OwnedHandle copy_by_kernel(const Handle& source, Where where) {
  Handle result;
  run_copy(source, result, where);
  if (!result.layout) return {};  // only recorded
  OwnedHandle owner(result);
  const Handle copied = reinterpreted(owner.get(), source.layout->dtype);
  owner.take();
  return OwnedHandle(copied);
}

namespace {

/// A GPU gathers by a kernel what a CPU gathers by itself.
void record_copy(const Handle& source, Where where) {
  if (source.layout->contiguous || source.layout->size == 0 || !runtime::is_recording_kernels()) return;
  const OnlyRecording only;
  copy_by_kernel(source, where);
}

/// C-order copy on the device of `source`.
OwnedHandle copy_of(const Handle& source, const char* operation, Where where) {
  const Layout& layout = *source.layout;
  const DeviceId device = device_of(layout);
  const bool recorded = runtime::recording_of(runtime::backend(device), current_stream(device)) != nullptr;
  if (recorded || (device.kind != DeviceKind::cpu && !layout.contiguous)) return copy_by_kernel(source, where);
  OwnedHandle result = allocate_on(device, layout.dtype, shape_of(layout), operation, where);
  if (layout.size == 0) return result;
  if (device.kind == DeviceKind::cpu) {
    record_copy(source, where);
    copy_activity("copy", device, nullptr, layout, where,
                  [&] { copy_strided(result.get().data, source.data, strided_of(layout), size_of(layout.dtype)); });
    return result;
  }
  const NativeStream stream = current_stream(device);
  runtime::note_use(*storage_of(source), stream);
  copy_activity("copy", device, stream, layout, where, [&] {
    runtime::backend(device).copy(result.get().data, source.data, bytes_of(layout), Copy::device_to_device, stream);
  });
  return result;
}

/// Between two GPUs, ordered after the source's stream and before later work of the destination's.
void copy_between_gpus(const Handle& to, const Handle& from, Where where) {
  const DeviceId here = device_of(*from.layout), there = device_of(*to.layout);
  Backend& source = runtime::backend(here);
  Backend& target = runtime::backend(there);
  const NativeStream stream = current_stream(there);
  void* ready = source.create_event();
  try {
    source.record_event(ready, current_stream(here));
    target.wait_event(stream, ready);
    runtime::note_use(*storage_of(from), stream);
    copy_activity("copy from another device", there, stream, *from.layout, where,
                  [&] { target.copy(to.data, from.data, bytes_of(*from.layout), Copy::device_to_device, stream); });
  } catch (...) {
    source.destroy_event(ready);
    throw;
  }
  source.destroy_event(ready);
}

/// Host memory to the start of `to`; the backend has read it, or a copy of it is under way, when this returns.
void upload(const Handle& to, const void* values, const char* operation, Where where) {
  const Layout& layout = *to.layout;
  if (layout.size == 0) return;
  const DeviceId device = device_of(layout);
  Backend& backend = runtime::backend(device);
  const NativeStream stream = current_stream(device);
  check_not_capturing(operation, backend, stream, where);  // a replay would read the host memory again
  if (device.kind == DeviceKind::cpu) {
    copy_activity("copy from host", device, nullptr, layout, where,
                  [&] { std::memcpy(to.data, values, bytes_of(layout)); });
    return;
  }
  copy_activity("copy from host", device, stream, layout, where,
                [&] { backend.copy(to.data, values, bytes_of(layout), Copy::host_to_device, stream); });
}

void download(const Handle& from, void* values, const char* operation, Where where) {
  const Layout& layout = *from.layout;
  if (layout.size == 0) return;
  const DeviceId device = device_of(layout);
  Backend& backend = runtime::backend(device);
  const NativeStream stream = current_stream(device);
  check_not_capturing(operation, backend, stream, where);
  if (device.kind == DeviceKind::cpu) {
    record_copy(from, where);
    copy_activity("copy to host", device, nullptr, layout, where,
                  [&] { copy_strided(values, from.data, strided_of(layout), size_of(layout.dtype)); });
    return;
  }
  OwnedHandle packed;
  if (!layout.contiguous) packed = copy_by_kernel(from, where);
  const Handle& source = layout.contiguous ? from : packed.get();
  runtime::note_use(*storage_of(source), stream);
  copy_activity("copy to host", device, stream, layout, where,
                [&] { backend.copy(values, source.data, bytes_of(layout), Copy::device_to_host, stream); });
  backend.synchronize(stream);
}

void check_borrowed(const char* operation, const void* data, const Layout& layout, DeviceId device, Where where) {
  if (layout.size == 0) return;
  const Shape shape = shape_of(layout);
  if (!data) {
    fail<DeviceError>("[{}] null pointer for {} elements of shape {}{}; pass the address of the first element",
                      operation, layout.size, to_text(shape), place(where));
  }
  const std::size_t alignment = size_of(real_of(layout.dtype));
  if (reinterpret_cast<std::uintptr_t>(data) % alignment != 0) {
    fail<DeviceError>(
        "[{}] address {} is not a multiple of {}, the size of {}{}; elements must be aligned to their size", operation,
        data, alignment, name_of(real_of(layout.dtype)), place(where));
  }
  // Memory of a graph that is being recorded is not there yet: the driver knows nothing of its address.
  const bool recorded = runtime::recording_of(runtime::backend(device), current_stream(device)) != nullptr;
  if (device.kind == DeviceKind::cuda && !recorded &&
      runtime::backend(device).memory_kind(data) == Backend::Memory::host) {
    fail<DeviceError>(
        "[{}] address {} is ordinary host memory, but the view of shape {} was asked for on {}{}; pass "
        "kl::Device::cpu(), or copy the values with kl::from_host",
        operation, data, to_text(shape), name_of(device), place(where));
  }
}

Handle require_elements(const Handle& handle, const char* operation, Where where) {
  if (!handle.layout) {
    fail<ShapeError>("[{}] of an array that was never given a shape{}; assign to it first", operation, place(where));
  }
  return handle;
}

}  // namespace

Handle borrow_memory(const char* operation, void* data, const Layout& layout, const Owner& owner, Where where) {
  const DeviceId device = device_of(layout);
  check_borrowed(operation, data, layout, device, where);
  char* const first = static_cast<char*>(data) + layout.low;
  const auto bytes = static_cast<std::size_t>(layout.high - layout.low);
  runtime::Storage* const storage = owner.release
                                        ? runtime::borrow_storage(device, first, bytes, owner.release, owner.context)
                                        : runtime::borrow_storage(device, first, bytes);
  return {reinterpret_cast<detail::Storage*>(storage), data, &layout};
}

void copy_to_host(const Handle& from, void* values, Where where) {
  if (from.layout) download(from, values, "to_host", where);
}

}  // namespace kiln::dsl

namespace kiln::detail {

using namespace dsl;

void destroy(Storage* s) noexcept { runtime::destroy_storage(reinterpret_cast<runtime::Storage*>(s)); }

Handle allocate(DType type, const std::int64_t* shape, int rank, Where where) try {
  const Shape checked = make_shape("array", {shape, static_cast<std::size_t>(rank)}, where);
  return allocate_on(dsl::current_device(), type, checked, "array", where).take();
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("make an array", where);
}

Handle allocate_on(DType type, const std::int64_t* shape, int rank, int device_kind, int device_index,
                   Where where) try {
  const Shape checked = make_shape("array", {shape, static_cast<std::size_t>(rank)}, where);
  const runtime::DeviceId device{static_cast<runtime::DeviceKind>(device_kind), device_index};
  return dsl::allocate_on(device, type, checked, "array", where).take();
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("make an array", where);
}

Handle from_host(DType type, const void* values, const std::int64_t* shape, int rank, Where where) try {
  const Shape checked = make_shape("from_host", {shape, static_cast<std::size_t>(rank)}, where);
  OwnedHandle result = allocate_on(dsl::current_device(), type, checked, "from_host", where);
  upload(result.get(), values, "from_host", where);
  return result.take();
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("copy an array from the host", where);
}

Handle borrow(DType type, void* data, const std::int64_t* shape, int rank, const std::int64_t* strides, int device_kind,
              int device_index, Where where) try {
  const runtime::DeviceId device{static_cast<runtime::DeviceKind>(device_kind), device_index};
  backend_for(device, "view", where);
  const Shape checked = make_shape("view", {shape, static_cast<std::size_t>(rank)}, where);
  element_count("view", checked, where);
  return borrow_memory("view", data, *intern(type, device_kind, device_index, shape, rank, strides), {}, where);
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("make a view", where);
}

void to_host(const Handle& h, void* values, Where where) try {
  check_not_tracing("read", where);
  copy_to_host(h, values, where);
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("copy an array to the host", where);
}

void fail_host_memory(std::int64_t elements, std::size_t element_bytes, Where where) {
  fail<OutOfMemory>("[to_host] no host memory for {} elements of {} bytes each{}; copy a part, or reduce on the device",
                    elements, element_bytes, place(where));
}

Handle clone(const Handle& h, Where where) try {
  return copy_of(require_elements(h, "clone", where), "clone", where).take();
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("copy an array", where);
}

Handle to_device(const Handle& h, int device_kind, int device_index, Where where) try {
  const runtime::DeviceId device{static_cast<runtime::DeviceKind>(device_kind), device_index};
  const Layout& layout = *require_elements(h, "to", where).layout;
  if (device_of(layout) == device) return copy_of(h, "to", where).take();
  backend_for(device, "to", where);  // throws before anything is copied
  OwnedHandle packed;
  if (!layout.contiguous) packed = copy_of(h, "to", where);
  const Handle& source = layout.contiguous ? h : packed.get();
  OwnedHandle result = allocate_on(device, layout.dtype, shape_of(layout), "to", where);
  if (layout.size == 0) return result.take();
  if (device.kind == runtime::DeviceKind::cpu) {
    download(source, result.get().data, "to", where);
  } else if (layout.device_kind == 0) {
    upload(result.get(), source.data, "to", where);
  } else {
    copy_between_gpus(result.get(), source, where);
  }
  return result.take();
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("copy an array to a device", where);
}

}  // namespace kiln::detail
