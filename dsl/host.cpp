// dsl/host.cpp -- kl::set_allocator and kl::order.
#include <kiln/host.h>

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

}  // namespace

void set_allocator(DeviceKind kind, const Allocator& allocator) {
  if (!allocator.allocate != !allocator.release) {
    fail<DeviceError>("[set_allocator] one function without the other; give both, or neither to restore kiln's own");
  }
  // Never destroyed: what it gave goes back to it, at exit too.
  runtime::set_device_allocator(static_cast<runtime::DeviceKind>(kind),
                                allocator.allocate ? new HostAllocator(allocator) : nullptr);
}

void order(const Stream& earlier, const Stream& later, detail::Where where) {
  const auto id = [](const Stream& stream) {
    return runtime::DeviceId{static_cast<runtime::DeviceKind>(stream.device().kind()), stream.device().index()};
  };
  dsl::order_streams("order", id(earlier), earlier.native_handle(), id(later), later.native_handle(), where);
}

}  // namespace kiln
