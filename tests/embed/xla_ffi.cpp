// tests/embed/xla_ffi.cpp -- a custom call of XLA that launches a kernel of kiln on XLA's buffers and stream: a
// function of kiln's inside of jax.jit.
//
//   g++ -std=c++17 -shared -fPIC -Iinclude -I"$(python -c 'import jax; print(jax.ffi.include_dir())')" xla_ffi.cpp
//   libkiln.so.0
#include <kiln/kiln_c.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

kiln_dl_data_type type_of(ffi::DataType type) {
  switch (type) {
    case ffi::DataType::PRED:
      return {KILN_DL_BOOL, 8, 1};
    case ffi::DataType::S32:
      return {KILN_DL_INT, 32, 1};
    case ffi::DataType::S64:
      return {KILN_DL_INT, 64, 1};
    case ffi::DataType::F16:
      return {KILN_DL_FLOAT, 16, 1};
    case ffi::DataType::BF16:
      return {KILN_DL_BFLOAT, 16, 1};
    case ffi::DataType::F32:
      return {KILN_DL_FLOAT, 32, 1};
    case ffi::DataType::F64:
      return {KILN_DL_FLOAT, 64, 1};
    default:
      return {KILN_DL_OPAQUE_HANDLE, 8, 1};  // which kiln refuses by name
  }
}

/// XLA's buffers are in C order.
kiln_dl_tensor tensor_of(const ffi::AnyBuffer& buffer, kiln_dl_device device) {
  const auto extents = buffer.dimensions();
  return {buffer.untyped_data(),
          device,
          static_cast<std::int32_t>(extents.size()),
          type_of(buffer.element_type()),
          const_cast<std::int64_t*>(extents.begin()),
          nullptr,
          0};
}

ffi::Error launch(kiln_dl_device device, void* stream, ffi::RemainingArgs arguments, ffi::RemainingRets results,
                  std::int64_t kernel, ffi::Span<const double> scalars) {
  std::vector<kiln_dl_tensor> tensors;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    tensors.push_back(tensor_of(arguments.get<ffi::AnyBuffer>(i).value(), device));
  for (std::size_t i = 0; i < results.size(); ++i)
    tensors.push_back(tensor_of(*results.get<ffi::AnyBuffer>(i).value(), device));
  std::vector<const kiln_dl_tensor*> pointers;
  for (const kiln_dl_tensor& tensor : tensors) pointers.push_back(&tensor);
  std::vector<const void*> numbers;
  for (const double& scalar : scalars) numbers.push_back(&scalar);
  const kiln_status status =
      kiln_launch(reinterpret_cast<kiln_kernel*>(kernel), stream, pointers.data(), arguments.size(), numbers.data(),
                  numbers.size(), pointers.data() + arguments.size(), results.size());
  return status == KILN_OK ? ffi::Error::Success() : ffi::Error::Internal(kiln_last_error());
}

ffi::Error on_cpu(ffi::RemainingArgs arguments, ffi::RemainingRets results, std::int64_t kernel,
                  ffi::Span<const double> scalars) {
  return launch({KILN_DL_CPU, 0}, nullptr, arguments, results, kernel, scalars);
}

ffi::Error on_cuda(void* stream, std::int32_t device, ffi::RemainingArgs arguments, ffi::RemainingRets results,
                   std::int64_t kernel, ffi::Span<const double> scalars) {
  return launch({KILN_DL_CUDA, device}, stream, arguments, results, kernel, scalars);
}

}  // namespace

// NOLINTBEGIN: macros of XLA
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    kiln_xla_cpu, on_cpu,
    ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attr<std::int64_t>("kernel").Attr<ffi::Span<const double>>(
        "scalars"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(kiln_xla_cuda, on_cuda,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<void*>>()
                                  .Ctx<ffi::DeviceOrdinal>()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attr<std::int64_t>("kernel")
                                  .Attr<ffi::Span<const double>>("scalars"),
                              {ffi::Traits::kCmdBufferCompatible});
// NOLINTEND
