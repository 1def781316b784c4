// dsl/array_memory.h -- handles that own, and copies between layouts and devices.
#pragma once

#include <utility>

#include <kiln/detail/bridge.h>

#include "dsl/layouts.h"
#include "runtime/runtime.h"

namespace kiln::dsl {

/// The runtime's view of a handle's storage; null for default-constructed arrays and index operands.
inline runtime::Storage* storage_of(const detail::Handle& handle) {
  return reinterpret_cast<runtime::Storage*>(handle.storage);
}

/// One reference to a handle's storage, given up at the end of the scope.
class OwnedHandle {
 public:
  OwnedHandle() = default;
  explicit OwnedHandle(detail::Handle handle) : handle_(handle) {}
  OwnedHandle(OwnedHandle&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  OwnedHandle& operator=(OwnedHandle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~OwnedHandle() { detail::release(handle_.storage); }
  const detail::Handle& get() const { return handle_; }
  detail::Handle take() { return std::exchange(handle_, {}); }

 private:
  detail::Handle handle_;
};

/// Who is told, once, when borrowed memory is used no more.
struct Owner {
  void (*release)(void* context) = nullptr;
  void* context = nullptr;
};
/// The caller's memory as an array, with one reference. DeviceError for an address that cannot be right. The owner is
/// told nothing where this throws.
detail::Handle borrow_memory(const char* operation, void* data, const detail::Layout& layout, const Owner& owner,
                             Where where);

/// Uninitialised C-order array on `device`, in the order of the thread's current stream there.
OwnedHandle allocate_on(runtime::DeviceId device, DType type, const Shape& shape, const char* operation, Where where);
/// Another layout of the same elements' bytes: `type` must have the size of the handle's type. Does not retain.
detail::Handle reinterpreted(const detail::Handle& handle, DType type);
/// C-order copy on the same device by a generated kernel, for layouts that no single copy command can express. Exact
/// for every bit pattern.
OwnedHandle copy_by_kernel(const detail::Handle& source, Where where);
/// The same into elements that are there: `to` has the shape, the type and the device of `source`.
void copy_by_kernel(const detail::Handle& source, const detail::Handle& to, Where where);
/// Copies the elements to host memory in C order, after the current stream's work.
void copy_to_host(const detail::Handle& from, void* values, Where where);
/// Copies the elements of a host array into C order at `to`.
void copy_strided(void* to, const void* from, const Strided& view, std::size_t element_bytes);

/// The backend of a device; DeviceError names the operation and its place when the device cannot be used.
runtime::Backend& backend_for(runtime::DeviceId device, const char* operation, Where where);

/// Memory for an array of `layout`; OutOfMemory says for what and where.
runtime::Storage* storage_for(runtime::DeviceId device, std::size_t bytes, runtime::NativeStream stream,
                              const char* operation, const detail::Layout& layout, Where where);

}  // namespace kiln::dsl
