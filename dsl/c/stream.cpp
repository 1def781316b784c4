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

}  // extern "C"
