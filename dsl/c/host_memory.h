// dsl/c/host_memory.h -- memory of the objects that the C interface hands out, from the host where it wants that.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include <kiln/kiln_c.h>

namespace kiln::dsl::c {

/// Where an object's memory comes from; each object keeps what was set when it was made.
struct HostMemory {
  void* context = nullptr;
  void* (*allocate)(void* context, std::size_t bytes) = nullptr;
  void (*deallocate)(void* context, void* memory, std::size_t bytes) = nullptr;

  /// Throws std::bad_alloc.
  void* take(std::size_t bytes) const;
  void give(void* memory, std::size_t bytes) const noexcept;
  friend bool operator==(const HostMemory&, const HostMemory&) = default;
};
/// What kiln_set_host_allocator set.
HostMemory host_memory();

/// Of standard containers.
template <class T>
struct HostAllocator {
  using value_type = T;
  HostMemory memory;

  explicit HostAllocator(const HostMemory& from) : memory(from) {}
  template <class U>
  HostAllocator(const HostAllocator<U>& other) : memory(other.memory) {}
  T* allocate(std::size_t count) { return static_cast<T*>(memory.take(count * sizeof(T))); }
  void deallocate(T* values, std::size_t count) noexcept { memory.give(values, count * sizeof(T)); }
  template <class U>
  friend bool operator==(const HostAllocator& a, const HostAllocator<U>& b) {
    return a.memory == b.memory;
  }
};

/// An object of the interface: made in the host's memory, its first argument.
template <class T, class... Args>
T* make_object(Args&&... args) {
  const HostMemory memory = host_memory();
  void* const place = memory.take(sizeof(T));
  try {
    return new (place) T(memory, std::forward<Args>(args)...);
  } catch (...) {
    memory.give(place, sizeof(T));
    throw;
  }
}
template <class T>
void destroy_object(T* object) noexcept {
  if (!object) return;
  const HostMemory memory = object->memory;
  object->~T();
  memory.give(object, sizeof(T));
}

}  // namespace kiln::dsl::c
