// kiln/dlpack_types.h -- the structures of DLPack 1.x, as C99 and C++, without the official header.
#ifndef KILN_DLPACK_TYPES_H
#define KILN_DLPACK_TYPES_H

#include <stddef.h>
#include <stdint.h>

// These structures have the layout of those of <dlpack/dlpack.h> 1.0 and later, under names of kiln: no other header is
// needed, and both may be included. A program with the official header casts its pointers: `(const kiln_dl_tensor*)t`
// of a `const DLTensor* t`; in C++, reinterpret_cast.

#ifdef __cplusplus
extern "C" {
#endif

// DLPACK_MAJOR_VERSION and DLPACK_MINOR_VERSION of the layout below.
#define KILN_DL_MAJOR_VERSION 1
#define KILN_DL_MINOR_VERSION 1

// DLDeviceType: the values that kiln knows by name.
enum {
  KILN_DL_CPU = 1,
  KILN_DL_CUDA = 2,
  KILN_DL_CUDA_HOST = 3,
  KILN_DL_OPENCL = 4,
  KILN_DL_VULKAN = 7,
  KILN_DL_METAL = 8,
  KILN_DL_VPI = 9,
  KILN_DL_ROCM = 10,
  KILN_DL_ROCM_HOST = 11,
  KILN_DL_EXT_DEV = 12,
  KILN_DL_CUDA_MANAGED = 13,
  KILN_DL_ONE_API = 14,
  KILN_DL_WEBGPU = 15,
  KILN_DL_HEXAGON = 16,
  KILN_DL_MAIA = 17,
  KILN_DL_TRN = 18
};

// DLDataTypeCode.
enum {
  KILN_DL_INT = 0,
  KILN_DL_UINT = 1,
  KILN_DL_FLOAT = 2,
  KILN_DL_OPAQUE_HANDLE = 3,
  KILN_DL_BFLOAT = 4,
  KILN_DL_COMPLEX = 5,
  KILN_DL_BOOL = 6
};

// Bits of kiln_dl_managed_tensor_versioned::flags.
#define KILN_DL_FLAG_READ_ONLY ((uint64_t)1 << 0)
#define KILN_DL_FLAG_IS_COPIED ((uint64_t)1 << 1)
#define KILN_DL_FLAG_SUBBYTE_PADDED ((uint64_t)1 << 2)

// DLPackVersion.
typedef struct kiln_dl_version {
  uint32_t major;  // another major version has another layout behind `flags`
  uint32_t minor;
} kiln_dl_version;

// DLDevice: where the elements are.
typedef struct kiln_dl_device {
  int32_t device_type;  // KILN_DL_CPU, KILN_DL_CUDA, ...
  int32_t device_id;    // 0 for the CPU, and for pinned and managed memory
} kiln_dl_device;

// DLDataType: what an element is.
typedef struct kiln_dl_data_type {
  uint8_t code;    // KILN_DL_INT, KILN_DL_FLOAT, ...
  uint8_t bits;    // of one lane
  uint16_t lanes;  // 1 unless elements are vectors
} kiln_dl_data_type;

// DLTensor: elements that somebody else owns.
typedef struct kiln_dl_tensor {
  void* data;  // element (0, 0, ...) is at data + byte_offset; may be null where there are no elements
  kiln_dl_device device;
  int32_t ndim;  // number of axes
  kiln_dl_data_type dtype;
  int64_t* shape;        // ndim extents; may be null where ndim is 0
  int64_t* strides;      // ndim strides in elements; null: C order without gaps (producers before DLPack 1.2)
  uint64_t byte_offset;  // in bytes
} kiln_dl_tensor;

// DLManagedTensor: a tensor and how to give it back; the form before DLPack 1.0.
typedef struct kiln_dl_managed_tensor {
  kiln_dl_tensor dl_tensor;
  void* manager_ctx;                                       // the producer's
  void (*deleter)(struct kiln_dl_managed_tensor* tensor);  // called once by who took the tensor; may be null
} kiln_dl_managed_tensor;

// DLManagedTensorVersioned: the form since DLPack 1.0. Everything up to `flags` has its place in every version.
typedef struct kiln_dl_managed_tensor_versioned {
  kiln_dl_version version;
  void* manager_ctx;                                                 // the producer's
  void (*deleter)(struct kiln_dl_managed_tensor_versioned* tensor);  // called once by who took it; may be null
  uint64_t flags;                                                    // KILN_DL_FLAG_...
  kiln_dl_tensor dl_tensor;
} kiln_dl_managed_tensor_versioned;

// The official layout on every machine of 64 bits. C99 has no static assertion: an array of -1 elements is an error.
#if UINTPTR_MAX > 0xffffffffu
#define KILN_DL_ASSERT(name, condition) typedef char kiln_dl_assert_##name[(condition) ? 1 : -1]
KILN_DL_ASSERT(tensor_bytes, sizeof(kiln_dl_tensor) == 48);
KILN_DL_ASSERT(tensor_device, offsetof(kiln_dl_tensor, device) == 8);
KILN_DL_ASSERT(tensor_ndim, offsetof(kiln_dl_tensor, ndim) == 16);
KILN_DL_ASSERT(tensor_dtype, offsetof(kiln_dl_tensor, dtype) == 20);
KILN_DL_ASSERT(tensor_shape, offsetof(kiln_dl_tensor, shape) == 24);
KILN_DL_ASSERT(tensor_strides, offsetof(kiln_dl_tensor, strides) == 32);
KILN_DL_ASSERT(tensor_byte_offset, offsetof(kiln_dl_tensor, byte_offset) == 40);
KILN_DL_ASSERT(managed_bytes, sizeof(kiln_dl_managed_tensor) == 64);
KILN_DL_ASSERT(managed_context, offsetof(kiln_dl_managed_tensor, manager_ctx) == 48);
KILN_DL_ASSERT(managed_deleter, offsetof(kiln_dl_managed_tensor, deleter) == 56);
KILN_DL_ASSERT(versioned_bytes, sizeof(kiln_dl_managed_tensor_versioned) == 80);
KILN_DL_ASSERT(versioned_context, offsetof(kiln_dl_managed_tensor_versioned, manager_ctx) == 8);
KILN_DL_ASSERT(versioned_deleter, offsetof(kiln_dl_managed_tensor_versioned, deleter) == 16);
KILN_DL_ASSERT(versioned_flags, offsetof(kiln_dl_managed_tensor_versioned, flags) == 24);
KILN_DL_ASSERT(versioned_tensor, offsetof(kiln_dl_managed_tensor_versioned, dl_tensor) == 32);
#undef KILN_DL_ASSERT
#endif

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // KILN_DLPACK_TYPES_H
