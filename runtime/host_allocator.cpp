// runtime/host_allocator.cpp -- which memory came from which of the host's allocators.
#include "runtime/host_allocator.h"

#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>

#include "support/check.h"

namespace kiln::runtime {
namespace {

constexpr std::uintptr_t alignment = 256;

struct Block {
  HostAllocator owner;
  std::size_t bytes = 0;
};

struct Allocators {
  std::mutex mutex;
  std::array<HostAllocator, 2> set;               // by DeviceKind
  std::unordered_map<const void*, Block> blocks;  // that hosts gave
  std::array<std::atomic<bool>, 2> is_set{};      // programs without one pay a load
  std::atomic<std::size_t> count{0};              // of blocks
};

/// Never destroyed: arrays with static storage are released during exit.
Allocators& allocators() {
  static Allocators* const instance = new Allocators;
  return *instance;
}

std::size_t slot(DeviceKind kind) { return static_cast<std::size_t>(kind); }

const char* name_of(DeviceKind kind) { return kind == DeviceKind::cpu ? "cpu" : "cuda"; }

}  // namespace

void set_host_allocator(DeviceKind kind, const HostAllocator& allocator) {
  if (!allocator.allocate != !allocator.release) {
    fail<DeviceError>("[set_allocator] one function without the other; give both, or neither to restore kiln's own");
  }
  Allocators& a = allocators();
  const std::lock_guard lock(a.mutex);
  a.set[slot(kind)] = allocator;
  a.is_set[slot(kind)].store(allocator.allocate != nullptr, std::memory_order_release);
}

bool has_host_allocator(DeviceKind kind) { return allocators().is_set[slot(kind)].load(std::memory_order_acquire); }

void* take_from_host(DeviceId device, std::size_t bytes, NativeStream stream) {
  Allocators& a = allocators();
  HostAllocator owner;
  {
    const std::lock_guard lock(a.mutex);
    owner = a.set[slot(device.kind)];
  }
  if (!owner.allocate) return backend(device).allocate(bytes, stream);  // restored meanwhile
  void* const memory = owner.allocate(owner.context, bytes, device.index, stream);
  if (!memory) return nullptr;
  if (reinterpret_cast<std::uintptr_t>(memory) % alignment != 0) {
    owner.release(owner.context, memory, bytes, device.index, stream);
    fail<DeviceError>("the allocator given to kl::set_allocator for {} returned {}, which is not a multiple of {}",
                      name_of(device.kind), memory, alignment);
  }
  try {
    const std::lock_guard lock(a.mutex);
    a.blocks[memory] = {owner, bytes};
  } catch (...) {  // of std::unordered_map: no memory for the note
    owner.release(owner.context, memory, bytes, device.index, stream);
    throw;
  }
  a.count.fetch_add(1, std::memory_order_release);
  return memory;
}

void fail_host_allocator(DeviceId device, std::size_t bytes) {
  fail<OutOfMemory>("the allocator given to kl::set_allocator has no {} bytes on {}:{}, also after a second try", bytes,
                    name_of(device.kind), device.index);
}

bool gave_any_host_allocator() { return allocators().count.load(std::memory_order_acquire) > 0; }

bool release_to_host(DeviceId device, void* memory, NativeStream stream) noexcept {
  if (!gave_any_host_allocator()) return false;
  Allocators& a = allocators();
  Block block;
  {
    const std::lock_guard lock(a.mutex);
    const auto found = a.blocks.find(memory);
    if (found == a.blocks.end()) return false;
    block = found->second;
    a.blocks.erase(found);
    a.count.fetch_sub(1, std::memory_order_release);
  }
  block.owner.release(block.owner.context, memory, block.bytes, device.index, stream);
  return true;
}

}  // namespace kiln::runtime
