// runtime/device_allocator.cpp -- which memory came from which of the host's allocators.
#include "runtime/device_allocator.h"

#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>

#include "support/check.h"

namespace kiln::runtime {
namespace {

constexpr std::uintptr_t alignment = 256;

struct Block {
  const DeviceAllocator* owner = nullptr;
  std::size_t bytes = 0;
};

struct Blocks {
  std::mutex mutex;
  std::unordered_map<const void*, Block> blocks;  // that hosts gave
  std::atomic<std::size_t> count{0};              // programs without a host's allocator pay a load
};

/// Never destroyed: arrays with static storage are released during exit.
Blocks& given() {
  static Blocks* const instance = new Blocks;
  return *instance;
}

constinit std::array<std::atomic<const DeviceAllocator*>, 2> allocators{};  // by DeviceKind

const char* name_of(DeviceKind kind) { return kind == DeviceKind::cpu ? "cpu" : "cuda"; }

}  // namespace

void set_device_allocator(DeviceKind kind, const DeviceAllocator* allocator) noexcept {
  allocators[static_cast<std::size_t>(kind)].store(allocator, std::memory_order_release);
}

void set_device_allocator(const DeviceAllocator* allocator) noexcept {
  set_device_allocator(DeviceKind::cpu, allocator);
  set_device_allocator(DeviceKind::cuda, allocator);
}

const DeviceAllocator* device_allocator(DeviceKind kind) noexcept {
  return allocators[static_cast<std::size_t>(kind)].load(std::memory_order_acquire);
}

void* take_from_host(const DeviceAllocator& allocator, DeviceId device, std::size_t bytes, NativeStream stream) {
  void* const memory = allocator.allocate(device, bytes, stream);
  if (!memory) return nullptr;
  if (reinterpret_cast<std::uintptr_t>(memory) % alignment != 0) {
    allocator.release(device, memory, bytes, stream);
    fail<DeviceError>("the host's allocator for {} returned {}, which is not a multiple of {}", name_of(device.kind),
                      memory, alignment);
  }
  Blocks& b = given();
  try {
    const std::lock_guard lock(b.mutex);
    b.blocks[memory] = {&allocator, bytes};
  } catch (...) {  // of std::unordered_map: no memory for the note
    allocator.release(device, memory, bytes, stream);
    throw;
  }
  b.count.fetch_add(1, std::memory_order_release);
  return memory;
}

void fail_host_allocator(DeviceId device, std::size_t bytes) {
  fail<OutOfMemory>("the host's allocator has no {} bytes on {}:{}, also after a second try", bytes,
                    name_of(device.kind), device.index);
}

bool gave_any_host_allocator() noexcept { return given().count.load(std::memory_order_acquire) > 0; }

bool release_to_host(DeviceId device, void* memory, NativeStream stream) noexcept {
  if (!gave_any_host_allocator()) return false;
  Blocks& b = given();
  Block block;
  {
    const std::lock_guard lock(b.mutex);
    const auto found = b.blocks.find(memory);
    if (found == b.blocks.end()) return false;
    block = found->second;
    b.blocks.erase(found);
    b.count.fetch_sub(1, std::memory_order_release);
  }
  block.owner->release(device, memory, block.bytes, stream);
  return true;
}

}  // namespace kiln::runtime
