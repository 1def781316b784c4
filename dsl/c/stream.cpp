// dsl/c/stream.cpp -- the order between two streams of the host.
#include "dsl/c/fault.h"
#include "dsl/c/kernel.h"
#include "dsl/c/tables.h"
#include "dsl/foreign.h"

using namespace kiln;
using namespace kiln::dsl::c;

extern "C" {

kiln_status kiln_stream_order(kiln_dl_device device, void* earlier, void* later) noexcept {
  return guarded("kiln_stream_order", [&] {
    const runtime::DeviceId on = device_named(device);
    dsl::order_streams("kiln_stream_order", on, earlier, on, later, {});
  });
}

kiln_status kiln_release_after(kiln_dl_device device, void* stream, void (*release)(void* owner),
                               void* owner) noexcept {
  return guarded("kiln_release_after", [&] {
    if (!release) fail_argument("release is null");
    const runtime::DeviceId on = device_named(device);
    runtime::backend(on);  // says why it cannot be used
    runtime::Storage* const storage = runtime::borrow_storage(on, nullptr, 0, release, owner);
    try {
      runtime::note_use(*storage, stream);
    } catch (...) {
      storage->deleter = nullptr;
      detail::release(reinterpret_cast<detail::Storage*>(storage));
      throw;
    }
    detail::release(reinterpret_cast<detail::Storage*>(storage));
  });
}

}  // extern "C"
