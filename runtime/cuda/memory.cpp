// runtime/cuda/memory.cpp -- stream-ordered memory and copies.
#include <algorithm>

#include "runtime/cuda/backend.h"
#include "runtime/device_allocator.h"
#include "support/check.h"
#include "support/log.h"

namespace kiln::runtime::cuda {
namespace {

CUdeviceptr address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

std::uint64_t pool_value(CUmemoryPool pool, CUmemPool_attribute which) {
  cuuint64_t value = 0;
  driver().pool_get_attribute(pool, which, &value);
  return value;
}

/// "3.50 GiB (3758096384 bytes)"
std::string size_text(std::uint64_t bytes) {
  constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  double value = static_cast<double>(bytes);
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.2f} {} ({} bytes)", value, units[unit], bytes);
}

}  // namespace

CUresult memory_type(const void* memory, unsigned& type) {
  type = 0;
  CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
  void* values[] = {&type};
  return driver().pointer_attributes(1, &attribute, values, address(memory));
}

CUresult CudaBackend::try_allocate(CUdeviceptr& memory, std::size_t bytes, CUstream stream) {
  return in_context(*this, [&] {
    return has_pools_ ? driver().memory_allocate_async(&memory, bytes, stream)
                      : driver().memory_allocate(&memory, bytes);
  });
}

/// Finishes all work, so that everything freed is free, and gives the pool's unused memory back to the device.
void CudaBackend::make_room(CUstream stream) {
  KILN_LOG(1, "cuda:{}: out of memory; trimming the pool and trying again", info_.id.index);
  const ContextScope scope(*this);
  driver().stream_synchronize(stream);
  driver().context_synchronize();
  if (has_pools_) driver().pool_trim(pool_, 0);
}

void CudaBackend::fail_allocation(CUresult result, std::size_t bytes) {
  if (result != CUDA_ERROR_OUT_OF_MEMORY) check(result, "allocating memory");
  const ContextScope scope(*this);
  std::size_t available = 0, total = 0;
  driver().memory_info(&available, &total);
  std::string pool;
  if (has_pools_) {
    pool = fmt::format("; this process's pool holds {}, of which {} are in use",
                       size_text(pool_value(pool_, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)),
                       size_text(pool_value(pool_, CU_MEMPOOL_ATTR_USED_MEM_CURRENT)));
  }
  fail<OutOfMemory>("out of memory on cuda:{} ({}): {} were asked for; {} of {} are free{}", info_.id.index, info_.name,
                    size_text(bytes), size_text(available), size_text(total), pool);
}

void* CudaBackend::allocate(std::size_t bytes, NativeStream stream) {
  const auto native = static_cast<CUstream>(stream);
  // Whole words: kernels change parts of a word by exchanging the word around them. Sizes that would wrap stay.
  const std::size_t wanted = std::max<std::size_t>({bytes, (bytes + 3) & ~std::size_t{3}, 4});
  if (const DeviceAllocator* const host = device_allocator(DeviceKind::cuda)) [[unlikely]] {
    const ContextScope scope(*this);
    const bool may_wait = !is_capturing(stream);
    return allocate_from_host(*host, info_.id, wanted, stream, [&] {
      if (may_wait) make_room(native);
      return may_wait;
    });
  }
  CUdeviceptr memory = 0;
  CUresult result = try_allocate(memory, wanted, native);
  // Nothing may wait while a capture records: there the first answer stands.
  if (result == CUDA_ERROR_OUT_OF_MEMORY && !is_capturing(stream)) {
    make_room(native);
    result = try_allocate(memory, wanted, native);
  }
  if (result != CUDA_SUCCESS) fail_allocation(result, bytes);
  return reinterpret_cast<void*>(memory);
}

void CudaBackend::release(void* memory, NativeStream stream) noexcept {
  try {
    if (gave_any_host_allocator()) [[unlikely]] {
      const ContextScope scope(*this);
      if (release_to_host(info_.id, memory, stream)) return;
    }
    const auto free = [&] {
      return has_pools_ ? driver().memory_free_async(address(memory), static_cast<CUstream>(stream))
                        : driver().memory_free(address(memory));
    };
    const CUresult result = in_context(*this, free, false);
    if (result != CUDA_SUCCESS && !is_teardown(result))
      KILN_LOG(1, "cuda:{}: releasing memory: {}", info_.id.index, error_text(result));
  } catch (const std::exception& error) {  // a forked child, which owns nothing on the device
    KILN_LOG(1, "cuda:{}: releasing memory: {}", info_.id.index, error.what());
  }
}

void CudaBackend::copy(void* to, const void* from, std::size_t bytes, Copy kind, NativeStream stream) {
  if (bytes == 0) return;
  const auto native = static_cast<CUstream>(stream);
  const Driver& api = driver();
  const CUresult result = in_context(*this, [&] {
    if (kind == Copy::host_to_device) return api.copy_to_device(address(to), from, bytes, native);
    if (kind == Copy::device_to_host) return api.copy_to_host(to, address(from), bytes, native);
    return api.copy_any(address(to), address(from), bytes, native);
  });
  check(result, kind == Copy::host_to_device   ? "copying from host memory"
                : kind == Copy::device_to_host ? "copying to host memory"
                                               : "copying between arrays");
  // Pageable memory has been staged by now. Pinned memory is read later, and the caller may free it when this returns.
  unsigned type = 0;
  if (kind == Copy::host_to_device && memory_type(from, type) == CUDA_SUCCESS && type != 0) synchronize(stream);
}

/// Addresses that the driver does not know are ordinary host memory, which only some systems let the device read.
Backend::Memory CudaBackend::memory_kind(const void* memory) {
  unsigned type = 0;
  const CUresult result = in_context(*this, [&] { return memory_type(memory, type); });
  if (result != CUDA_SUCCESS) return Memory::unknown;
  if (type != 0) return Memory::device;  // pinned and managed memory included
  int reads_host_memory = 0;
  driver().device_attribute(&reads_host_memory, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device_);
  return reads_host_memory ? Memory::unknown : Memory::host;
}

int CudaBackend::device_of(const void* memory) {
  int ordinal = -1;
  unsigned type = 0;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* values[] = {&type, &ordinal};
  const CUresult result =
      in_context(*this, [&] { return driver().pointer_attributes(2, attributes, values, address(memory)); });
  return result == CUDA_SUCCESS && type != 0 ? ordinal : -1;
}

}  // namespace kiln::runtime::cuda
