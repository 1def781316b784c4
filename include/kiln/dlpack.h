// kiln/dlpack.h -- tensors of other libraries as views, and arrays as tensors of theirs: DLPack and the CUDA array
// interface. Nothing is copied. Not part of <kiln/kiln.h>.
//
//   kl::View<const float> x = kl::from_dlpack<const float>(managed, {.stream = s});   // managed is kiln's from here on
//   kl::Array<float> y = kl::exp(x);
//   return kl::to_dlpack(y, {.stream = s});
//   // the caller's deleter frees it
#pragma once

#include <kiln/array.h>
#include <kiln/dlpack_types.h>
#include <kiln/options.h>

namespace kiln {
namespace detail {

struct DeviceArgument {
  Device device = Device::cpu();
  bool given = false;
  constexpr DeviceArgument() = default;
  constexpr DeviceArgument(Device d) : device(d), given(true) {}
};

}  // namespace detail

/// How a tensor comes in.
struct Import {
  /// The stream in whose order the elements are ready: the current stream waits for it, the host does not. When the
  /// view is gone, it waits for what kiln still does with them. Not given: they are ready, or made on the current
  /// stream.
  detail::StreamArgument stream = {};
  /// Where pinned and managed memory, which both the CPU and GPUs reach, is to be used. Not given: pinned memory on the
  /// CPU, managed memory on its GPU. Other memory is where it is: another device is a DeviceError.
  detail::DeviceArgument device = {};
};

/// How an array goes out.
struct Export {
  /// The consumer's stream: its later work comes after what the current stream has by now, and the memory is not used
  /// again before the work that it has when the tensor is deleted. Not given: the current stream.
  detail::StreamArgument stream = {};
  bool read_only = false;  ///< the consumer must not write; arrays and views that are const always say so
  bool copy = false;       ///< of a copy that belongs to the consumer alone; the flag of the tensor says so
};

/// A device array of another library by its CUDA array interface (version 3, as numba.cuda documents it).
struct CudaArrayInterface {
  const std::int64_t* shape = nullptr;
  int ndim = 0;
  const char* typestr = nullptr;  ///< NumPy's: "<f4", "|b1", "<c8"; "<V2" for bfloat16
  void* data = nullptr;           ///< may be null where there are no elements
  bool read_only = false;
  const std::int64_t* strides = nullptr;  ///< in BYTES; null: C order without gaps
  const void* mask = nullptr;             ///< not supported: anything but null is a TypeError
  bool has_stream = false;                ///< whether `stream` is an integer and not None
  std::uintptr_t stream = 0;              ///< 1: legacy default, 2: per-thread default, else a cudaStream_t; not 0
  int version = 3;
};

namespace detail {

KILN_API Handle import_dlpack(kiln_dl_managed_tensor_versioned* tensor, DType type, bool writes, const Import&, Where);
KILN_API Handle import_dlpack(kiln_dl_managed_tensor* tensor, DType type, bool writes, const Import&, Where);
KILN_API Handle borrow_dlpack(const kiln_dl_tensor& tensor, DType type, const Import&, Where);
KILN_API Handle import_cuda_array(const CudaArrayInterface& array, DType type, bool writes, void (*release)(void*),
                                  void* owner, const Import&, Where);
KILN_API kiln_dl_managed_tensor_versioned* export_dlpack(const Handle&, bool read_only, const Export&, Where);
KILN_API kiln_dl_managed_tensor* export_dlpack_legacy(const Handle&, bool read_only, const Export&, Where);
KILN_API void export_cuda_array(const Handle&, bool read_only, const Export&, CudaArrayInterface& result,
                                std::int64_t* shape, std::int64_t* strides, Where);
KILN_API DType dtype_of_tensor(const kiln_dl_tensor& tensor, Where);

template <class A>
inline constexpr bool only_reads = std::is_const_v<std::remove_reference_t<A>>;
template <class T>
inline constexpr bool only_reads<const View<T>> = std::is_const_v<T>;
template <class T>
inline constexpr bool only_reads<View<T>> = std::is_const_v<T>;

template <class A>
concept exportable = role_of<std::remove_cvref_t<A>> == Role::array && requires(const A& a) { a.handle(); };

}  // namespace detail

/// The type of a tensor's elements, for programs that choose by it. TypeError, with the name, for one that kiln lacks.
inline DType dlpack_dtype(const kiln_dl_tensor& tensor, detail::Where w = detail::Where::current()) {
  return detail::dtype_of_tensor(tensor, w);
}

/// A managed tensor, versioned or legacy, as a view: View<T> to write, View<const T> to read only.
///
/// Takes ownership in every case: the tensor's deleter is called exactly once, after the last view of it is gone and
/// the last queued work that uses it is done, from whatever thread finds that out; at once if this function throws; not
/// at all where the process ends first. While kiln captures a graph, or one of the streams that used the tensor is
/// being captured, it waits for the end of the capture. A graph captured by the host does not keep the tensor alive.
///
/// TypeError: other elements than T, lanes, an unknown major version, a tensor that only reads as a View of elements
/// that may be written. ShapeError: more than 8 axes, extents or strides beyond 63 bits. DeviceError: a device that
/// kiln does not know or that is not here, an address that is not there or not aligned to an element.
template <class T>
View<T> from_dlpack(kiln_dl_managed_tensor_versioned* tensor, const Import& how = {},
                    detail::Where w = detail::Where::current()) {
  return View<T>(detail::import_dlpack(tensor, dtype_of<T>, !std::is_const_v<T>, how, w));
}
template <class T>
View<T> from_dlpack(kiln_dl_managed_tensor* tensor, const Import& how = {},
                    detail::Where w = detail::Where::current()) {
  return View<T>(detail::import_dlpack(tensor, dtype_of<T>, !std::is_const_v<T>, how, w));
}
/// A tensor that stays the caller's: it must outlive the view and all work that uses it.
template <class T>
View<T> borrow_dlpack(const kiln_dl_tensor& tensor, const Import& how = {},
                      detail::Where w = detail::Where::current()) {
  return View<T>(detail::borrow_dlpack(tensor, dtype_of<T>, how, w));
}

/// An array or view as a managed tensor of version 1, which shares its elements and keeps them alive. Const arrays and
/// View<const T> are marked read-only. The consumer calls the deleter once, from any thread; unconsumed, the caller
/// does.
template <detail::exportable A>
kiln_dl_managed_tensor_versioned* to_dlpack(A&& array, const Export& how = {},
                                            detail::Where w = detail::Where::current()) {
  return detail::export_dlpack(array.handle(), detail::only_reads<std::remove_reference_t<A>>, how, w);
}
/// The form before DLPack 1.0, which cannot say that a tensor only reads: such arrays are a TypeError unless copied.
template <detail::exportable A>
kiln_dl_managed_tensor* to_dlpack_legacy(A&& array, const Export& how = {},
                                         detail::Where w = detail::Where::current()) {
  return detail::export_dlpack_legacy(array.handle(), detail::only_reads<std::remove_reference_t<A>>, how, w);
}

/// The same for a device array of Numba, CuPy and others. `release(owner)`, if given, is called as from_dlpack calls a
/// tensor's deleter, in every case once. The interface's stream orders the work unless `how` names another.
template <class T>
View<T> from_cuda_array_interface(const CudaArrayInterface& array, void (*release)(void*) = nullptr,
                                  void* owner = nullptr, const Import& how = {},
                                  detail::Where w = detail::Where::current()) {
  return View<T>(detail::import_cuda_array(array, dtype_of<T>, !std::is_const_v<T>, release, owner, how, w));
}
/// Describes an array or view of a GPU; the array must outlive the consumer's use. Writes 8 extents and 8 strides at
/// most, to which the result points. Its stream is the current one, whose work the consumer waits for.
template <detail::exportable A>
CudaArrayInterface to_cuda_array_interface(A&& array, std::int64_t* shape, std::int64_t* strides,
                                           const Export& how = {}, detail::Where w = detail::Where::current()) {
  CudaArrayInterface result;
  detail::export_cuda_array(array.handle(), detail::only_reads<std::remove_reference_t<A>>, how, result, shape, strides,
                            w);
  return result;
}

}  // namespace kiln
