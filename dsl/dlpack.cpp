// dsl/dlpack.cpp -- kl::from_dlpack, kl::to_dlpack and the CUDA array interface: who owns what, and since when.
#include <kiln/dlpack.h>

#include <array>
#include <memory>
#include <optional>
#include <string_view>

#include "dsl/foreign.h"
#include "dsl/out_of_memory.h"
#include "dsl/session.h"
#include "support/check.h"

namespace kiln::dsl {
namespace {

using detail::Handle;
using runtime::DeviceId;
using runtime::DeviceKind;
using runtime::NativeStream;

/// Tells the owner when the import fails: from then on nobody else would.
class Pending {
 public:
  explicit Pending(const Owner& owner) : owner_(owner) {}
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  ~Pending() {
    if (owner_.release) owner_.release(owner_.context);
  }
  const Owner& owner() const { return owner_; }
  void taken() { owner_ = {}; }

 private:
  Owner owner_;
};

/// An owner for a managed tensor of either form.
template <class Managed>
Owner owner_of(Managed* tensor) {
  if (!tensor->deleter) return {};
  return {[](void* context) {
            auto* const managed = static_cast<Managed*>(context);
            managed->deleter(managed);
          },
          tensor};
}

std::optional<DeviceId> wanted_device(const Import& how) {
  if (!how.device.given) return std::nullopt;
  return DeviceId{static_cast<DeviceKind>(how.device.device.kind()), how.device.device.index()};
}

void check_type(const char* operation, DType is, DType wanted, Where where) {
  if (is == wanted) return;
  fail<TypeError>("[{}] the tensor's elements are {}, and {} were asked for{}; ask for {}, and convert with kl::cast",
                  operation, name_of(is), name_of(wanted), place(where), name_of(is));
}

void check_writes(const char* operation, bool read_only, bool writes, Where where) {
  if (!read_only || !writes) return;
  fail<TypeError>(
      "[{}] the tensor is read-only, and was asked for as a view that writes{}; ask for the const type, as in "
      "kl::{}<const float>, or copy it in the library that made it",
      operation, place(where), operation);
}

/// Elements made on the producer's stream: kiln's later work waits for them, and the producer for kiln's.
void wait_for_producer(const char* operation, const Described& tensor, bool is_cuda_memory, const Import& how,
                       Where where) {
  if (!how.stream.given || !is_cuda_memory) return;
  // Pinned memory used on the CPU: the stream is of the GPU that filled it.
  DeviceId producer = tensor.device;
  if (producer.kind == DeviceKind::cpu) {
    producer = {DeviceKind::cuda, 0};
    const int index = tensor.data ? backend_for(producer, operation, where).device_of(tensor.data) : -1;
    producer.index = index < 0 ? 0 : index;
  }
  order_streams(operation, producer, how.stream.native, tensor.device, current_stream(tensor.device), where);
}

Handle adopt(const char* operation, const Described& tensor, const Owner& owner, const Import& how, Where where) {
  backend_for(tensor.device, operation, where);
  const detail::Layout* const layout = intern(tensor.type, tensor.device, tensor.view, operation, where);
  const Handle handle = borrow_memory(operation, tensor.data, *layout, owner, where);
  if (how.stream.given && owner.release && tensor.device.kind == DeviceKind::cuda) {
    runtime::Storage& storage = *storage_of(handle);
    storage.producer = how.stream.native;
    storage.has_producer = true;
  }
  return handle;
}

Handle import_tensor(const char* operation, const kiln_dl_tensor& tensor, Pending& pending, DType type,
                     const Import& how, Where where) {
  const std::optional<DeviceId> wanted = wanted_device(how);
  const Described described = describe(operation, tensor, wanted ? &*wanted : nullptr, where);
  dsl::check_type(operation, described.type, type, where);
  wait_for_producer(operation, described, tensor.device.device_type != KILN_DL_CPU, how, where);
  const Handle handle = adopt(operation, described, pending.owner(), how, where);
  pending.taken();
  return handle;
}

template <class Managed>
void check_given(const char* operation, const Managed* tensor, Where where) {
  if (!tensor) fail<TypeError>("[{}] null in place of a managed tensor{}", operation, place(where));
}

// ------------------------------------------------------------------ out
/// A managed tensor of either form with what it points to, and a reference to the elements' storage.
template <class Managed>
struct Exported {
  Managed managed = {};
  std::array<std::int64_t, max_rank> shape = {}, strides = {};
  detail::Storage* storage = nullptr;

  static void destroy(Managed* tensor) {
    auto* const self = static_cast<Exported*>(tensor->manager_ctx);
    detail::release(self->storage);
    delete self;
  }
};

/// What the consumer may work with on its stream: the elements, or a copy of them.
OwnedHandle prepared(const char* operation, const Handle& handle, const Export& how, Where where) {
  if (!handle.layout)
    fail<ShapeError>("[{}] of an array that was never given a shape{}; assign to it first", operation, place(where));
  OwnedHandle result;
  if (how.copy) {
    result = OwnedHandle(detail::clone(handle, where));
  } else {
    detail::retain(handle.storage);
    result = OwnedHandle(handle);
  }
  const DeviceId device = device_of(*handle.layout);
  if (!how.stream.given || device.kind == DeviceKind::cpu) return result;
  const NativeStream consumer = how.stream.native;
  order_streams(operation, device, current_stream(device), device, consumer, where);
  runtime::note_use(*storage_of(result.get()), consumer);
  return result;
}

template <class Managed>
Managed* export_tensor(const char* operation, const Handle& handle, const Export& how, Where where) {
  OwnedHandle source = prepared(operation, handle, how, where);
  const detail::Layout& layout = *source.get().layout;
  auto exported = std::make_unique<Exported<Managed>>();
  Managed& managed = exported->managed;
  managed.manager_ctx = exported.get();
  managed.deleter = &Exported<Managed>::destroy;
  kiln_dl_tensor& tensor = managed.dl_tensor;
  tensor.data = layout.size == 0 ? nullptr : source.get().data;
  tensor.device = {layout.device_kind == 0 ? KILN_DL_CPU : KILN_DL_CUDA, layout.device_index};
  tensor.ndim = layout.rank;
  tensor.dtype = dlpack_type(layout.dtype);
  for (int i = 0; i < layout.rank; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    exported->shape[axis] = layout.shape[i];
    exported->strides[axis] = layout.strides[i];
  }
  tensor.shape = exported->shape.data();
  tensor.strides = exported->strides.data();
  exported->storage = source.take().storage;
  return &exported.release()->managed;
}

// ------------------------------------------------------------------ the CUDA array interface
DType type_of_typestr(const char* operation, const char* typestr, Where where) {
  struct Row {
    std::string_view text;
    DType type;
  };
  static constexpr Row rows[] = {{"b1", DType::b1},  {"i1", DType::i8},  {"i2", DType::i16},  {"i4", DType::i32},
                                 {"i8", DType::i64}, {"u1", DType::u8},  {"u2", DType::u16},  {"u4", DType::u32},
                                 {"u8", DType::u64}, {"f2", DType::f16}, {"V2", DType::bf16}, {"f4", DType::f32},
                                 {"f8", DType::f64}, {"c8", DType::c64}, {"c16", DType::c128}};
  const std::string_view text = typestr ? typestr : "";
  const bool native = text.starts_with('<') || text.starts_with('|');
  if (native)
    for (const Row& row : rows)
      if (text.substr(1) == row.text) return row.type;
  fail<TypeError>(
      "[{}] the type string \"{}\"{} names no type of kiln's; it has b1, i1 to i8, u1 to u8, f2, f4, f8, c8 "
      "and c16, little-endian (\"<f4\")",
      operation, text, place(where));
}

const char* typestr_of(DType type) {
  static constexpr const char* names[dtype_count] = {"|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4",
                                                     "<u8", "<f2", "<V2", "<f4", "<f8", "<c8", "<c16"};
  return names[static_cast<int>(type)];
}

Described describe(const char* operation, const CudaArrayInterface& array, const Import& how, Where where) {
  if (array.version < 0 || array.version > 3) {
    fail<TypeError>("[{}] version {} of the CUDA array interface{}; kiln knows those up to 3", operation, array.version,
                    place(where));
  }
  if (array.mask)
    fail<TypeError>("[{}] a masked array{}; multiply by the mask or use kl::where", operation, place(where));
  if (array.has_stream && array.stream == 0) {
    fail<DeviceError>(
        "[{}] stream 0 is not allowed in a CUDA array interface{}: 1 is the legacy default stream, 2 the "
        "per-thread one, None no stream",
        operation, place(where));
  }
  kiln_dl_tensor tensor = {};
  tensor.data = array.data;
  tensor.device = {KILN_DL_CUDA_MANAGED, 0};  // of which GPU the address tells
  tensor.ndim = array.ndim;
  tensor.dtype = dlpack_type(type_of_typestr(operation, array.typestr, where));
  tensor.shape = const_cast<std::int64_t*>(array.shape);
  std::array<std::int64_t, max_rank> strides = {};
  const auto bytes = static_cast<std::int64_t>(tensor.dtype.bits / 8);
  for (int i = 0; array.strides && i < array.ndim && i < max_rank; ++i) {
    if (array.strides[i] % bytes != 0) {
      fail<ShapeError>("[{}] stride {} of axis {} is not a multiple of the {} bytes of an element{}", operation,
                       array.strides[i], i, bytes, place(where));
    }
    strides[static_cast<std::size_t>(i)] = array.strides[i] / bytes;
  }
  if (array.strides) tensor.strides = strides.data();
  std::optional<DeviceId> wanted = wanted_device(how);
  if (!wanted && !array.data)
    wanted = current_device().kind == DeviceKind::cuda ? current_device() : DeviceId{DeviceKind::cuda, 0};
  return dsl::describe(operation, tensor, wanted ? &*wanted : nullptr, where);
}

}  // namespace
}  // namespace kiln::dsl

namespace kiln::detail {

using namespace dsl;

Handle import_dlpack(kiln_dl_managed_tensor_versioned* tensor, DType type, bool writes, const Import& how,
                     Where where) try {
  constexpr const char* operation = "from_dlpack";
  check_given(operation, tensor, where);
  Pending pending(owner_of(tensor));
  if (tensor->version.major != KILN_DL_MAJOR_VERSION) {  // only the members up to the flags are what they seem
    fail<TypeError>(
        "[{}] a tensor of DLPack {}.{}{}; kiln knows version {}. Ask the producer for that one (max_version)",
        operation, tensor->version.major, tensor->version.minor, place(where), KILN_DL_MAJOR_VERSION);
  }
  check_writes(operation, (tensor->flags & KILN_DL_FLAG_READ_ONLY) != 0, writes, where);
  return import_tensor(operation, tensor->dl_tensor, pending, type, how, where);
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("take a tensor over", where);
}

Handle import_dlpack(kiln_dl_managed_tensor* tensor, DType type, bool, const Import& how, Where where) try {
  constexpr const char* operation = "from_dlpack";
  check_given(operation, tensor, where);
  Pending pending(owner_of(tensor));
  return import_tensor(operation, tensor->dl_tensor, pending, type, how, where);
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("take a tensor over", where);
}

Handle borrow_dlpack(const kiln_dl_tensor& tensor, DType type, const Import& how, Where where) try {
  Pending nobody(Owner{});
  return import_tensor("borrow_dlpack", tensor, nobody, type, how, where);
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("borrow a tensor", where);
}

Handle import_cuda_array(const CudaArrayInterface& array, DType type, bool writes, void (*release)(void*), void* owner,
                         const Import& how, Where where) try {
  constexpr const char* operation = "from_cuda_array_interface";
  Pending pending({release, owner});
  check_writes(operation, array.read_only, writes, where);
  const Described described = describe(operation, array, how, where);
  dsl::check_type(operation, described.type, type, where);
  Import ordered = how;
  if (!ordered.stream.given && array.has_stream) {
    ordered.stream.native = reinterpret_cast<NativeStream>(array.stream);
    ordered.stream.given = true;
  }
  wait_for_producer(operation, described, true, ordered, where);
  const Handle handle = dsl::adopt(operation, described, pending.owner(), ordered, where);
  pending.taken();
  return handle;
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("take an array over", where);
}

kiln_dl_managed_tensor_versioned* export_dlpack(const Handle& handle, bool read_only, const Export& how,
                                                Where where) try {
  auto* const tensor = export_tensor<kiln_dl_managed_tensor_versioned>("to_dlpack", handle, how, where);
  tensor->version = {KILN_DL_MAJOR_VERSION, KILN_DL_MINOR_VERSION};
  if ((read_only && !how.copy) || how.read_only) tensor->flags |= KILN_DL_FLAG_READ_ONLY;
  if (how.copy) tensor->flags |= KILN_DL_FLAG_IS_COPIED;
  return tensor;
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("hand a tensor out", where);
}

kiln_dl_managed_tensor* export_dlpack_legacy(const Handle& handle, bool read_only, const Export& how, Where where) try {
  if ((read_only && !how.copy) || how.read_only) {
    fail<TypeError>(
        "[to_dlpack_legacy] the array is only to be read, which tensors before DLPack 1.0 cannot say{}; use "
        "kl::to_dlpack, or {{.copy = true}}",
        place(where));
  }
  return export_tensor<kiln_dl_managed_tensor>("to_dlpack_legacy", handle, how, where);
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("hand a tensor out", where);
}

void export_cuda_array(const Handle& handle, bool read_only, const Export& how, CudaArrayInterface& result,
                       std::int64_t* shape, std::int64_t* strides, Where where) try {
  constexpr const char* operation = "to_cuda_array_interface";
  const OwnedHandle source = prepared(operation, handle, how, where);
  const Layout& layout = *source.get().layout;
  if (how.copy) fail<TypeError>("[{}] nobody would own the copy{}; clone the array", operation, place(where));
  if (layout.device_kind == 0)
    fail<DeviceError>("[{}] the array is on the CPU{}; copy it with .to(kl::Device::cuda())", operation, place(where));
  for (int i = 0; i < layout.rank; ++i) {
    shape[i] = layout.shape[i];
    strides[i] = layout.strides[i] * static_cast<std::int64_t>(size_of(layout.dtype));
  }
  const NativeStream stream = how.stream.given ? how.stream.native : dsl::current_stream(device_of(layout));
  result = {.shape = shape,
            .ndim = layout.rank,
            .typestr = typestr_of(layout.dtype),
            .data = layout.size == 0 ? nullptr : source.get().data,
            .read_only = read_only || how.read_only,
            .strides = strides,
            .has_stream = true,
            .stream = reinterpret_cast<std::uintptr_t>(stream ? stream : runtime::legacy_stream)};
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("hand an array out", where);
}

DType dtype_of_tensor(const kiln_dl_tensor& tensor, Where where) {
  return type_of("dlpack_dtype", tensor.dtype, where);
}

}  // namespace kiln::detail
