// runtime/cpu/memory.cpp -- a header before each block remembers its size; the last few large blocks are reused.
#include "runtime/cpu/memory.h"

#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <cstdlib>

#include "support/check.h"
#include "support/fork_safe.h"

namespace kiln::runtime {
namespace {

constexpr std::size_t header_bytes = 256;                // keeps the caller's alignment
constexpr std::size_t large = std::size_t{1} << 20;      // below this malloc reuses memory well by itself
constexpr std::size_t huge_page = std::size_t{2} << 20;  // fresh pages cost more than the kernel that fills them
constexpr std::size_t most_kept = std::size_t{1} << 29;

struct Header {
  std::size_t total;  // whole block, header included
};

/// Freed large blocks, newest last; mapped pages are kept because faulting them in again costs ~0.25 ms per MiB.
struct Kept {
  ForkSafeMutex mutex;
  std::array<void*, 16> blocks{};
  std::size_t count = 0, bytes = 0;
};
constinit Leaked<Kept> the_kept;
Kept& kept() { return the_kept.get(); }

std::size_t size_of_block(void* block) { return static_cast<Header*>(block)->total; }

void* take(std::size_t total) {
  Kept& k = kept();
  const std::lock_guard lock(k.mutex);
  for (std::size_t i = k.count; i-- > 0;) {
    void* block = k.blocks[i];
    if (size_of_block(block) != total) continue;
    k.bytes -= total;
    for (std::size_t j = i + 1; j < k.count; ++j) k.blocks[j - 1] = k.blocks[j];
    --k.count;
    return block;
  }
  return nullptr;
}

bool keep(void* block) {
  Kept& k = kept();
  const std::lock_guard lock(k.mutex);
  const std::size_t total = size_of_block(block);
  if (total > most_kept / 2) return false;
  while (k.count == k.blocks.size() || (k.count && k.bytes + total > most_kept)) {
    k.bytes -= size_of_block(k.blocks[0]);
    std::free(k.blocks[0]);
    for (std::size_t j = 1; j < k.count; ++j) k.blocks[j - 1] = k.blocks[j];
    --k.count;
  }
  k.blocks[k.count++] = block;
  k.bytes += total;
  return true;
}

void* fresh(std::size_t total) {
  const std::size_t alignment = total >= huge_page ? huge_page : header_bytes;
  void* block = std::aligned_alloc(alignment, (total + alignment - 1) / alignment * alignment);
  if (block && alignment == huge_page) madvise(block, total, MADV_HUGEPAGE);  // advice only: failure is fine
  return block;
}

}  // namespace

void* allocate_host(std::size_t bytes) {
  if (bytes > PTRDIFF_MAX - 2 * huge_page) fail<OutOfMemory>("{} bytes are more than an address space holds", bytes);
  const std::size_t wanted = (bytes ? bytes : 1) + header_bytes;
  const std::size_t total = (wanted + header_bytes - 1) / header_bytes * header_bytes;
  void* block = total >= large ? take(total) : nullptr;
  if (!block) block = fresh(total);
  if (!block) {
    trim_host_memory();
    block = fresh(total);
  }
  if (!block)
    fail<OutOfMemory>("cannot allocate {} bytes on the CPU device, also after giving cached blocks back", bytes);
  static_cast<Header*>(block)->total = total;
  return static_cast<char*>(block) + header_bytes;
}

void release_host(void* memory) noexcept {
  if (!memory) return;
  void* block = static_cast<char*>(memory) - header_bytes;
  if (size_of_block(block) < large || !keep(block)) std::free(block);
}

void trim_host_memory() noexcept {
  Kept& k = kept();
  const std::lock_guard lock(k.mutex);
  for (std::size_t i = 0; i < k.count; ++i) std::free(k.blocks[i]);
  k.count = k.bytes = 0;
}

}  // namespace kiln::runtime
