// dsl/host.cpp -- kl::set_allocator and kl::order.
#include <kiln/host.h>

#include <memory>
#include <mutex>
#include <vector>

#include "dsl/foreign.h"
#include "runtime/device_allocator.h"
#include "support/check.h"

namespace kiln {
namespace {

class HostAllocator final : public runtime::DeviceAllocator {
 public:
  explicit HostAllocator(const Allocator& functions) : functions_(functions) {}
  void* allocate(runtime::DeviceId device, std::size_t bytes, runtime::NativeStream stream) const noexcept override {
    return functions_.allocate(functions_.context, bytes, device.index, stream);
  }
  void release(runtime::DeviceId device, void* memory, std::size_t bytes,
               runtime::NativeStream stream) const noexcept override {
    functions_.release(functions_.context, memory, bytes, device.index, stream);
  }

 private:
  const Allocator functions_;
};

/// Those that were set, for what they gave goes back to them, at exit too: never destroyed.
struct Kept {
  std::mutex mutex;
  std::vector<std::unique_ptr<HostAllocator>> allocators;
};
Kept& kept() {
  static Kept* const instance = new Kept;
  return *instance;
}

}  // namespace

void set_allocator(DeviceKind kind, const Allocator& allocator) {
  if (!allocator.allocate != !allocator.release) {
    fail<DeviceError>("[set_allocator] one function without the other; give both, or neither to restore kiln's own");
  }
  const HostAllocator* made = nullptr;
  if (allocator.allocate) {
    const std::lock_guard lock(kept().mutex);
    made = kept().allocators.emplace_back(std::make_unique<HostAllocator>(allocator)).get();
  }
  runtime::set_device_allocator(static_cast<runtime::DeviceKind>(kind), made);
}

void order(const Stream& earlier, const Stream& later, detail::Where where) {
  const auto id = [](const Stream& stream) {
    return runtime::DeviceId{static_cast<runtime::DeviceKind>(stream.device().kind()), stream.device().index()};
  };
  dsl::order_streams("order", id(earlier), earlier.native_handle(), id(later), later.native_handle(), where);
}

}  // namespace kiln
