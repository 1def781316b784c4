// dsl/host.cpp -- kl::set_allocator and kl::order.
#include <kiln/host.h>

#include "dsl/foreign.h"
#include "runtime/host_allocator.h"

namespace kiln {

void set_allocator(DeviceKind kind, const Allocator& allocator) {
  runtime::set_host_allocator(static_cast<runtime::DeviceKind>(kind),
                              {allocator.context, allocator.allocate, allocator.release});
}

void order(const Stream& earlier, const Stream& later, detail::Where where) {
  const auto id = [](const Stream& stream) {
    return runtime::DeviceId{static_cast<runtime::DeviceKind>(stream.device().kind()), stream.device().index()};
  };
  dsl::order_streams("order", id(earlier), earlier.native_handle(), id(later), later.native_handle(), where);
}

}  // namespace kiln
