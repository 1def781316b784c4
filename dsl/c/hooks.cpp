// dsl/c/hooks.cpp -- functions of the host: its memory, its threads, its log; none of them can throw into kiln.
#include <atomic>
#include <memory>
#include <string>

#include "dsl/c/fault.h"
#include "dsl/c/host_memory.h"
#include "runtime/cpu/cpu.h"
#include "runtime/device_allocator.h"
#include "support/log.h"

namespace kiln::dsl::c {
namespace {

constinit std::atomic<const HostMemory*> current_memory{nullptr};

}  // namespace

HostMemory host_memory() {
  const HostMemory* const memory = current_memory.load(std::memory_order_acquire);
  return memory ? *memory : HostMemory{};
}

void* HostMemory::take(std::size_t bytes) const {
  if (!allocate) return ::operator new(bytes);
  void* memory = nullptr;
  try {
    memory = allocate(context, bytes);
  } catch (...) {
    note_callback_failure("the host's allocate threw");
  }
  if (!memory) throw std::bad_alloc();
  return memory;
}

void HostMemory::give(void* memory, std::size_t bytes) const noexcept {
  if (!deallocate) return ::operator delete(memory);
  try {
    deallocate(context, memory, bytes);
  } catch (...) {
    warn_once("the host's deallocate threw for an object's memory, which is not used again");
  }
}

namespace {

kiln_dl_device dl_device(runtime::DeviceId device) {
  return {device.kind == runtime::DeviceKind::cpu ? KILN_DL_CPU : KILN_DL_CUDA, device.index};
}

/// The host's allocator as the runtime calls it.
class HostDeviceAllocator final : public runtime::DeviceAllocator {
 public:
  explicit HostDeviceAllocator(const kiln_allocator& hooks) : hooks_(hooks) {}
  void* allocate(runtime::DeviceId device, std::size_t bytes, runtime::NativeStream stream) const noexcept override {
    try {
      return hooks_.allocate(hooks_.context, dl_device(device), bytes, stream);
    } catch (...) {
      note_callback_failure("the host's allocate threw");
      return nullptr;
    }
  }
  void release(runtime::DeviceId device, void* memory, std::size_t bytes,
               runtime::NativeStream stream) const noexcept override {
    try {
      hooks_.deallocate(hooks_.context, dl_device(device), memory, bytes, stream);
    } catch (...) {
      warn_once("the host's deallocate threw for a tensor's memory, which is not used again");
    }
  }

 private:
  kiln_allocator hooks_;
};

struct Threads {
  kiln_parallel_for parallel_for;
  void* context;
};

bool run_on_host_threads(void* host, std::int64_t count, void (*body)(void*, std::int64_t), void* argument) {
  const Threads& threads = *static_cast<const Threads*>(host);
  try {
    if (threads.parallel_for(threads.context, count, body, argument) == 0) return true;
    note_callback_failure("the host's parallel_for failed");
  } catch (...) {
    note_callback_failure("the host's parallel_for threw");
  }
  return false;
}

struct Log {
  kiln_log log;
  void* context;
};

void write_to_host(int level, std::string_view message, void* context) {
  const Log& to = *static_cast<const Log*>(context);
  try {
    to.log(to.context, level, std::string(message).c_str());
  } catch (...) {
    return;  // a log that throws cannot be told about
  }
}

}  // namespace
}  // namespace kiln::dsl::c

using namespace kiln;
using namespace kiln::dsl::c;

// What is replaced is leaked: another thread may be using it.
extern "C" {

kiln_status kiln_set_allocator(const kiln_allocator* allocator) noexcept {
  return guarded("kiln_set_allocator", [&] {
    if (!allocator) return runtime::set_device_allocator(nullptr);
    require_known(allocator, "allocator");
    if (!allocator->allocate || !allocator->deallocate) fail_argument("an allocator needs both of its functions");
    runtime::set_device_allocator(std::make_unique<HostDeviceAllocator>(*allocator).release());
  });
}

kiln_status kiln_set_host_allocator(const kiln_host_allocator* allocator) noexcept {
  return guarded("kiln_set_host_allocator", [&] {
    const HostMemory* memory = nullptr;
    if (allocator) {
      require_known(allocator, "allocator");
      if (!allocator->allocate || !allocator->deallocate) fail_argument("an allocator needs both of its functions");
      memory = std::make_unique<HostMemory>(allocator->context, allocator->allocate, allocator->deallocate).release();
    }
    current_memory.store(memory, std::memory_order_release);
  });
}

kiln_status kiln_set_parallel_for(kiln_parallel_for parallel_for, void* context) noexcept {
  return guarded("kiln_set_parallel_for", [&] {
    if (!parallel_for) return runtime::set_parallel_for(nullptr, nullptr);
    runtime::set_parallel_for(&run_on_host_threads, std::make_unique<Threads>(parallel_for, context).release());
  });
}

kiln_status kiln_set_log(kiln_log log, void* context) noexcept {
  return guarded("kiln_set_log", [&] {
    if (!log) return set_log_sink(nullptr, nullptr);
    set_log_sink(&write_to_host, std::make_unique<Log>(log, context).release());
  });
}

}  // extern "C"
