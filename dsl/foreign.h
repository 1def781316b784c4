// dsl/foreign.h -- tensors that other libraries describe: what they are in kiln's terms, and the order of their
// streams.
#pragma once

#include <optional>

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

/// The type of DLPack's code, bits and lanes, if kiln has it. Every launch through the C interface asks.
inline std::optional<DType> known_type(const kiln_dl_data_type& type) {
  if (type.lanes != 1) return std::nullopt;
  switch (type.code << 8 | type.bits) {
    case KILN_DL_BOOL << 8 | 8:
      return DType::b1;
    case KILN_DL_INT << 8 | 8:
      return DType::i8;
    case KILN_DL_INT << 8 | 16:
      return DType::i16;
    case KILN_DL_INT << 8 | 32:
      return DType::i32;
    case KILN_DL_INT << 8 | 64:
      return DType::i64;
    case KILN_DL_UINT << 8 | 8:
      return DType::u8;
    case KILN_DL_UINT << 8 | 16:
      return DType::u16;
    case KILN_DL_UINT << 8 | 32:
      return DType::u32;
    case KILN_DL_UINT << 8 | 64:
      return DType::u64;
    case KILN_DL_FLOAT << 8 | 16:
      return DType::f16;
    case KILN_DL_BFLOAT << 8 | 16:
      return DType::bf16;
    case KILN_DL_FLOAT << 8 | 32:
      return DType::f32;
    case KILN_DL_FLOAT << 8 | 64:
      return DType::f64;
    case KILN_DL_COMPLEX << 8 | 64:
      return DType::c64;
    case KILN_DL_COMPLEX << 8 | 128:
      return DType::c128;
    default:
      return std::nullopt;
  }
}

/// The same; TypeError, with the name, for what kiln does not have.
DType type_of(const char* operation, const kiln_dl_data_type& type, Where where);
kiln_dl_data_type dlpack_type(DType type);

/// Where pinned and managed memory is to be used; null: pinned memory on the CPU, managed memory on its GPU.
Described describe(const char* operation, const kiln_dl_tensor& tensor, const runtime::DeviceId* wanted, Where where);

/// Work that `later` gets from here on waits for what `earlier` has by now. Nothing where both are the same stream.
/// DeviceError where only one of them is being captured.
void order_streams(const char* operation, runtime::DeviceId earlier_device, runtime::NativeStream earlier,
                   runtime::DeviceId later_device, runtime::NativeStream later, Where where);

}  // namespace kiln::dsl
