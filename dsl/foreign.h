// dsl/foreign.h -- tensors that other libraries describe: what they are in kiln's terms, and the order of their
// streams.
#pragma once

#include <kiln/dlpack_types.h>

#include "dsl/array_memory.h"
#include "dsl/layouts.h"

namespace kiln::dsl {

/// What somebody else says of elements in memory.
struct Described {
  DType type = DType::f32;
  runtime::DeviceId device;
  Strided view;
  void* data = nullptr;  ///< of element (0, 0, ...)
};

/// The type of DLPack's code, bits and lanes. TypeError, with the name, for what kiln does not have.
DType type_of(const char* operation, const kiln_dl_data_type& type, Where where);
kiln_dl_data_type dlpack_type(DType type);

/// Where pinned and managed memory is to be used; null: pinned memory on the CPU, managed memory on its GPU.
Described describe(const char* operation, const kiln_dl_tensor& tensor, const runtime::DeviceId* wanted, Where where);

/// Work that `later` gets from here on waits for what `earlier` has by now. Nothing where both are the same stream.
/// DeviceError where only one of them is being captured.
void order_streams(const char* operation, runtime::DeviceId earlier_device, runtime::NativeStream earlier,
                   runtime::DeviceId later_device, runtime::NativeStream later, Where where);

}  // namespace kiln::dsl
