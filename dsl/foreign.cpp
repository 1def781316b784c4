// dsl/foreign.cpp -- DLPack's types, devices and strides in kiln's terms.
#include "dsl/foreign.h"

#include <string>

#include "support/check.h"

namespace kiln::dsl {

using runtime::Backend;
using runtime::DeviceId;
using runtime::DeviceKind;
using runtime::NativeStream;

namespace {

/// For messages: "float8_e4m3fn", "int of 4 bits", "float of 32 bits x 2 lanes", "code 99 of 8 bits".
std::string text_of(const kiln_dl_data_type& type) {
  static constexpr const char* names[] = {"int",
                                          "uint",
                                          "float",
                                          "opaque handle",
                                          "bfloat",
                                          "complex",
                                          "bool",
                                          "float8_e3m4",
                                          "float8_e4m3",
                                          "float8_e4m3b11fnuz",
                                          "float8_e4m3fn",
                                          "float8_e4m3fnuz",
                                          "float8_e5m2",
                                          "float8_e5m2fnuz",
                                          "float8_e8m0fnu",
                                          "float6_e2m3fn",
                                          "float6_e3m2fn",
                                          "float4_e2m1fn"};
  const std::string name = type.code < std::size(names) ? names[type.code] : fmt::format("code {}", type.code);
  return fmt::format("{} of {} bits{}", name, type.bits, type.lanes == 1 ? "" : fmt::format(" x {} lanes", type.lanes));
}

const char* name_of_device(std::int32_t type) {
  switch (type) {
    case KILN_DL_OPENCL:
      return "OpenCL";
    case KILN_DL_VULKAN:
      return "Vulkan";
    case KILN_DL_METAL:
      return "Metal";
    case KILN_DL_VPI:
      return "VPI";
    case KILN_DL_ROCM:
      return "ROCm";
    case KILN_DL_ROCM_HOST:
      return "ROCm's pinned memory";
    case KILN_DL_EXT_DEV:
      return "an extension device";
    case KILN_DL_ONE_API:
      return "oneAPI";
    case KILN_DL_WEBGPU:
      return "WebGPU";
    case KILN_DL_HEXAGON:
      return "Hexagon";
    case KILN_DL_MAIA:
      return "MAIA";
    case KILN_DL_TRN:
      return "Trainium";
    default:
      return "an unknown device";
  }
}

/// Which GPU an address of pinned or managed memory belongs to: their device_id is 0 whatever it is.
DeviceId gpu_of(const char* operation, const void* data, Where where) {
  const int index = data ? backend_for({DeviceKind::cuda, 0}, operation, where).device_of(data) : 0;
  return {DeviceKind::cuda, index < 0 ? 0 : index};
}

/// Another device than the tensor's was asked for, which only memory that both reach may grant.
void check_wanted(const char* operation, DeviceId is, const DeviceId* wanted, Where where) {
  if (!wanted || *wanted == is) return;
  const auto text = [](DeviceId d) { return d.kind == DeviceKind::cpu ? "cpu" : fmt::format("cuda:{}", d.index); };
  fail<DeviceError>("[{}] the tensor is on {} and was asked for on {}{}; copy it there with .to(device)", operation,
                    text(is), text(*wanted), place(where));
}

DeviceId device_of_tensor(const char* operation, const kiln_dl_tensor& tensor, const void* data, const DeviceId* wanted,
                          Where where) {
  DeviceId device;
  switch (tensor.device.device_type) {
    case KILN_DL_CPU:
      break;
    case KILN_DL_CUDA: {
      device = {DeviceKind::cuda, tensor.device.device_id};
      const int actual = backend_for(device, operation, where).device_of(data);
      if (data && actual >= 0 && actual != device.index) {
        fail<DeviceError>("[{}] the tensor says cuda:{}, but its address {} belongs to cuda:{}{}", operation,
                          device.index, data, actual, place(where));
      }
      break;
    }
    case KILN_DL_CUDA_HOST:
      return wanted ? *wanted : DeviceId{};
    case KILN_DL_CUDA_MANAGED:
      return wanted ? *wanted : gpu_of(operation, data, where);
    default:
      fail<DeviceError>(
          "[{}] the tensor is on {} (DLPack's device type {}){}; kiln takes tensors of the CPU, of CUDA, and CUDA's "
          "pinned and managed memory. Copy it there in the library that made it",
          operation, name_of_device(tensor.device.device_type), tensor.device.device_type, place(where));
  }
  check_wanted(operation, device, wanted, where);
  return device;
}

Strided view_of_tensor(const char* operation, const kiln_dl_tensor& tensor, Where where) {
  if (tensor.ndim < 0 || tensor.ndim > max_rank) {
    fail<ShapeError>("[{}] a tensor of {} axes{}; kiln takes 0 to {}", operation, tensor.ndim, place(where), max_rank);
  }
  const auto rank = static_cast<std::size_t>(tensor.ndim);
  if (rank > 0 && !tensor.shape)
    fail<ShapeError>("[{}] a tensor of {} axes without a shape{}", operation, rank, place(where));
  const Shape shape = make_shape(operation, {tensor.shape, rank}, where);
  Strided view = contiguous(operation, shape, where);
  if (!tensor.strides) return view;  // C order, as before DLPack 1.2
  for (std::size_t i = 0; i < rank; ++i) view.strides[i] = tensor.strides[i];
  return view;
}

}  // namespace

DType type_of(const char* operation, const kiln_dl_data_type& type, Where where) {
  if (const std::optional<DType> known = known_type(type)) return *known;
  fail<TypeError>(
      "[{}] the tensor's elements are {}{}; kiln has bool, integers of 8 to 64 bits, f16, bf16, f32, f64, c64 and "
      "c128{}",
      operation, text_of(type), place(where),
      type.lanes == 1 ? "" : ", one per element: give vectors an axis of their own");
}

kiln_dl_data_type dlpack_type(DType type) {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(type));
  const std::uint8_t code = type == DType::b1           ? KILN_DL_BOOL
                            : is_signed_integer(type)   ? KILN_DL_INT
                            : is_unsigned_integer(type) ? KILN_DL_UINT
                            : type == DType::bf16       ? KILN_DL_BFLOAT
                            : is_complex(type)          ? KILN_DL_COMPLEX
                                                        : KILN_DL_FLOAT;
  return {code, bits, 1};
}

Described describe(const char* operation, const kiln_dl_tensor& tensor, const DeviceId* wanted, Where where) {
  Described result;
  result.type = type_of(operation, tensor.dtype, where);
  result.view = view_of_tensor(operation, tensor, where);
  result.data = tensor.data ? static_cast<char*>(tensor.data) + tensor.byte_offset : nullptr;
  result.device = device_of_tensor(operation, tensor, result.data, wanted, where);
  return result;
}

void order_streams(const char* operation, DeviceId earlier_device, NativeStream earlier, DeviceId later_device,
                   NativeStream later, Where where) {
  if (earlier_device.kind == DeviceKind::cpu && later_device.kind == DeviceKind::cpu) return;
  const auto plain = [](NativeStream s) { return s == runtime::legacy_stream ? nullptr : s; };
  if (earlier_device == later_device && plain(earlier) == plain(later)) return;
  if (earlier_device.kind == DeviceKind::cpu) return;  // its work is done
  Backend& first = backend_for(earlier_device, operation, where);
  if (later_device.kind == DeviceKind::cpu) {
    first.synchronize(earlier);  // the CPU's stream is this thread
    return;
  }
  Backend& second = backend_for(later_device, operation, where);
  if (first.is_capturing(earlier) != second.is_capturing(later)) {
    fail<DeviceError>(
        "[{}] one of the two streams is being captured into a graph and the other is not{}: a graph cannot wait for "
        "work outside of it. Order the streams before the capture, or give the captured stream",
        operation, place(where));
  }
  void* const event = first.create_event();
  try {
    first.record_event(event, earlier);
    second.wait_event(later, event);
  } catch (...) {
    first.destroy_event(event);
    throw;
  }
  first.destroy_event(event);
}

}  // namespace kiln::dsl
