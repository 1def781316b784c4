// dsl/c/bind.cpp -- tensors of the host as operands: what every launch checks, in a few nanoseconds each.
#include <cstring>

#include "dsl/array_memory.h"
#include "dsl/c/kernel.h"
#include "dsl/c/tables.h"
#include "dsl/foreign.h"
#include "dsl/session.h"

namespace kiln::dsl::c {
namespace {

using detail::Handle;
using detail::Layout;

bool is_same(const Layout& layout, const TensorView& tensor, runtime::DeviceId device) {
  if (layout.rank != tensor.rank || layout.device_kind != static_cast<std::uint8_t>(device.kind) ||
      layout.device_index != device.index)
    return false;
  const std::size_t bytes = static_cast<std::size_t>(tensor.rank) * sizeof(std::int64_t);
  if (tensor.rank > 0 && std::memcmp(layout.shape, tensor.shape, bytes) != 0) return false;
  return tensor.strides ? tensor.rank == 0 || std::memcmp(layout.strides, tensor.strides, bytes) == 0
                        : layout.contiguous;
}

[[gnu::cold]] void check_tensor(const Operand& operand, const TensorView& tensor, Role role) {
  if (tensor.type != operand.type) {
    fail<TypeError>("{} {} is of type {}, and the graph's is {}", role.name, role.number, kiln::name_of(tensor.type),
                    kiln::name_of(operand.type));
  }
  if (tensor.rank < 0 || tensor.rank > detail::max_rank)
    fail<ShapeError>("{} {} has {} axes; 0 to {} are possible", role.name, role.number, tensor.rank, detail::max_rank);
  if (operand.rank >= 0 && tensor.rank != operand.rank) {
    fail<ShapeError>("{} {} has {} axes, and the graph's has {}", role.name, role.number, tensor.rank, operand.rank);
  }
  if (tensor.rank > 0 && !tensor.shape) fail_argument("the shape of {} {} is null", role.name, role.number);
}

[[gnu::cold, gnu::noinline]] const Layout* learn_layout(const Operand& operand, const TensorView& tensor,
                                                        runtime::DeviceId device, Role role) {
  check_tensor(operand, tensor, role);
  if (device.index < 0 || device.index >= max_cuda_devices || (device.kind == runtime::DeviceKind::cpu && device.index))
    fail<DeviceError>("{} {} is on device {}, which does not exist", role.name, role.number, device.index);
  runtime::backend(device);  // says why it cannot be used
  return detail::intern(operand.type, static_cast<int>(device.kind), device.index, tensor.shape, tensor.rank,
                        tensor.strides);
}

[[gnu::cold, gnu::noinline]] void refuse_data(const void* data, const Layout& layout, Role role) {
  if (!data) fail_argument("the data of {} {} is null, and it has {} elements", role.name, role.number, layout.size);
  fail_argument("the address {} of {} {} is not a multiple of {}, the size of {}", data, role.name, role.number,
                size_of(real_of(layout.dtype)), kiln::name_of(real_of(layout.dtype)));
}

DType element_type(const kiln_dl_data_type& type) {
  if (const std::optional<DType> known = known_type(type)) [[likely]]
    return *known;
  fail<TypeError>("kiln has no elements of DLPack's type code {}, {} bits, {} lanes", type.code, type.bits, type.lanes);
}

}  // namespace

bool names_device(kiln_dl_device device) {
  return device.device_type != KILN_DL_CUDA_HOST && device.device_type != KILN_DL_CUDA_MANAGED;
}

runtime::DeviceId device_named(kiln_dl_device device) {
  if (device.device_type == KILN_DL_CPU) [[likely]]
    return {runtime::DeviceKind::cpu, 0};
  if (device.device_type == KILN_DL_CUDA) return {runtime::DeviceKind::cuda, device.device_id};
  fail<DeviceError>("kiln has no devices of DLPack's type {}; it has CPU, {}, and CUDA, {}", device.device_type,
                    static_cast<int>(KILN_DL_CPU), static_cast<int>(KILN_DL_CUDA));
}

kiln_dl_device dl_device(runtime::DeviceId device) {
  return {device.kind == runtime::DeviceKind::cpu ? KILN_DL_CPU : KILN_DL_CUDA, device.index};
}

TensorView view_of(const kiln_dl_tensor& tensor) {
  const char* const data = static_cast<const char*>(tensor.data);
  return {data ? data + tensor.byte_offset : nullptr, tensor.shape, tensor.strides, tensor.ndim,
          element_type(tensor.dtype)};
}

TensorView view_of(const kiln_tensor& tensor) {
  return {tensor.data, tensor.shape, tensor.strides, tensor.rank, checked_dtype(tensor.dtype)};
}

detail::Storage* borrowed_storage(runtime::DeviceId device) {
  // A reference count that never reaches 0: nobody frees what the host owns.
  static runtime::Storage* const storages = [] {
    auto* const made = new runtime::Storage[1 + max_cuda_devices];
    for (int i = 0; i <= max_cuda_devices; ++i) {
      made[i].references = 1L << 40;
      made[i].borrowed = true;
      made[i].device = i == 0 ? runtime::DeviceId{} : runtime::DeviceId{runtime::DeviceKind::cuda, i - 1};
    }
    return made;
  }();
  const int number = device.kind == runtime::DeviceKind::cpu ? 0 : 1 + device.index;
  return reinterpret_cast<detail::Storage*>(storages + number);
}

Handle bind(Operand& operand, const TensorView& tensor, runtime::DeviceId device, Role role) {
  const Layout* layout = operand.last.load(std::memory_order_acquire);
  if (!layout || layout->dtype != tensor.type || (tensor.rank > 0 && !tensor.shape) ||
      !is_same(*layout, tensor, device)) [[unlikely]] {
    layout = learn_layout(operand, tensor, device, role);
    operand.last.store(layout, std::memory_order_release);
  }
  const std::size_t alignment = size_of(real_of(layout->dtype));
  if (layout->size != 0 && (!tensor.data || reinterpret_cast<std::uintptr_t>(tensor.data) % alignment != 0))
      [[unlikely]]
    refuse_data(tensor.data, *layout, role);
  return {borrowed_storage(device), const_cast<void*>(tensor.data), layout};
}

}  // namespace kiln::dsl::c
