// runtime/cuda/driver_api.h -- the CUDA driver, opened at first use and never linked: one table of entry points.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <string>

/// The type of cuStreamGetCaptureInfo in CUDA 12.0; the headers of 13 declare another one. Never defined.
CUresult kiln_stream_capture_info_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                     const CUgraphNode** dependencies, std::size_t* count);

/// The type of cuStreamGetCtx in CUDA 12, whatever later headers call by that name. Never defined.
CUresult kiln_stream_context(CUstream stream, CUcontext* context);

namespace kiln::runtime::cuda {

// member, exported symbol, declaration that gives its type. The symbols are those of CUDA 12.0, whichever headers this
// is built with, so that a library built with newer headers runs on an older driver.
#define KILN_DRIVER_FUNCTIONS(X)                                                                   \
  X(init, "cuInit", cuInit)                                                                        \
  X(driver_version, "cuDriverGetVersion", cuDriverGetVersion)                                      \
  X(error_name, "cuGetErrorName", cuGetErrorName)                                                  \
  X(error_string, "cuGetErrorString", cuGetErrorString)                                            \
  X(device_count, "cuDeviceGetCount", cuDeviceGetCount)                                            \
  X(device_get, "cuDeviceGet", cuDeviceGet)                                                        \
  X(device_name, "cuDeviceGetName", cuDeviceGetName)                                               \
  X(device_attribute, "cuDeviceGetAttribute", cuDeviceGetAttribute)                                \
  X(device_total_memory, "cuDeviceTotalMem_v2", cuDeviceTotalMem)                                  \
  X(device_can_access_peer, "cuDeviceCanAccessPeer", cuDeviceCanAccessPeer)                        \
  X(device_default_pool, "cuDeviceGetDefaultMemPool", cuDeviceGetDefaultMemPool)                   \
  X(primary_context_retain, "cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain)                  \
  X(context_get_current, "cuCtxGetCurrent", cuCtxGetCurrent)                                       \
  X(context_set_current, "cuCtxSetCurrent", cuCtxSetCurrent)                                       \
  X(context_push, "cuCtxPushCurrent_v2", cuCtxPushCurrent)                                         \
  X(context_pop, "cuCtxPopCurrent_v2", cuCtxPopCurrent)                                            \
  X(context_device, "cuCtxGetDevice", cuCtxGetDevice)                                              \
  X(context_synchronize, "cuCtxSynchronize", cuCtxSynchronize)                                     \
  X(context_id, "cuCtxGetId", cuCtxGetId)                                                          \
  X(memory_info, "cuMemGetInfo_v2", cuMemGetInfo)                                                  \
  X(memory_allocate, "cuMemAlloc_v2", cuMemAlloc)                                                  \
  X(memory_free, "cuMemFree_v2", cuMemFree)                                                        \
  X(memory_allocate_async, "cuMemAllocAsync", cuMemAllocAsync)                                     \
  X(memory_free_async, "cuMemFreeAsync", cuMemFreeAsync)                                           \
  X(pool_set_attribute, "cuMemPoolSetAttribute", cuMemPoolSetAttribute)                            \
  X(pool_get_attribute, "cuMemPoolGetAttribute", cuMemPoolGetAttribute)                            \
  X(pool_trim, "cuMemPoolTrimTo", cuMemPoolTrimTo)                                                 \
  X(pool_set_access, "cuMemPoolSetAccess", cuMemPoolSetAccess)                                     \
  X(copy_to_device, "cuMemcpyHtoDAsync_v2", cuMemcpyHtoDAsync)                                     \
  X(copy_to_host, "cuMemcpyDtoHAsync_v2", cuMemcpyDtoHAsync)                                       \
  X(copy_any, "cuMemcpyAsync", cuMemcpyAsync)                                                      \
  X(set_bytes, "cuMemsetD8Async", cuMemsetD8Async)                                                 \
  X(pointer_attributes, "cuPointerGetAttributes", cuPointerGetAttributes)                          \
  X(library_load, "cuLibraryLoadData", cuLibraryLoadData)                                          \
  X(library_unload, "cuLibraryUnload", cuLibraryUnload)                                            \
  X(library_kernel, "cuLibraryGetKernel", cuLibraryGetKernel)                                      \
  X(kernel_function, "cuKernelGetFunction", cuKernelGetFunction)                                   \
  X(kernel_set_attribute, "cuKernelSetAttribute", cuKernelSetAttribute)                            \
  X(launch_kernel, "cuLaunchKernel", cuLaunchKernel)                                               \
  X(launch_kernel_extended, "cuLaunchKernelEx", cuLaunchKernelEx)                                  \
  X(stream_create, "cuStreamCreate", cuStreamCreate)                                               \
  X(stream_destroy, "cuStreamDestroy_v2", cuStreamDestroy)                                         \
  X(stream_synchronize, "cuStreamSynchronize", cuStreamSynchronize)                                \
  X(stream_wait_event, "cuStreamWaitEvent", cuStreamWaitEvent)                                     \
  X(stream_id, "cuStreamGetId", cuStreamGetId)                                                     \
  X(stream_context, "cuStreamGetCtx", kiln_stream_context)                                         \
  X(stream_is_capturing, "cuStreamIsCapturing", cuStreamIsCapturing)                               \
  X(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", cuThreadExchangeStreamCaptureMode) \
  X(stream_begin_capture, "cuStreamBeginCapture_v2", cuStreamBeginCapture)                         \
  X(stream_end_capture, "cuStreamEndCapture", cuStreamEndCapture)                                  \
  X(stream_capture_info, "cuStreamGetCaptureInfo_v2", kiln_stream_capture_info_v2)                 \
  X(graph_instantiate, "cuGraphInstantiateWithFlags", cuGraphInstantiate)                          \
  X(graph_update, "cuGraphExecUpdate_v2", cuGraphExecUpdate)                                       \
  X(graph_set_kernel, "cuGraphExecKernelNodeSetParams_v2", cuGraphExecKernelNodeSetParams)         \
  X(graph_launch, "cuGraphLaunch", cuGraphLaunch)                                                  \
  X(graph_destroy, "cuGraphDestroy", cuGraphDestroy)                                               \
  X(graph_destroy_instance, "cuGraphExecDestroy", cuGraphExecDestroy)                              \
  X(event_create, "cuEventCreate", cuEventCreate)                                                  \
  X(event_destroy, "cuEventDestroy_v2", cuEventDestroy)                                            \
  X(event_record, "cuEventRecord", cuEventRecord)                                                  \
  X(event_query, "cuEventQuery", cuEventQuery)                                                     \
  X(event_synchronize, "cuEventSynchronize", cuEventSynchronize)                                   \
  X(event_elapsed, "cuEventElapsedTime", cuEventElapsedTime)

struct Driver {
#define KILN_DRIVER_MEMBER(member, symbol, declaration) decltype(&::declaration) member = nullptr;
  KILN_DRIVER_FUNCTIONS(KILN_DRIVER_MEMBER)
#undef KILN_DRIVER_MEMBER
  int version = 0;  ///< 12040 for CUDA 12.4
};

/// Opens and initialises the driver once per process. Null, with the reason, where that is not possible.
const Driver* open_driver(std::string& reason);

/// State that every call reads: plain words, so that a cached launch costs no function call to find them.
inline constinit std::atomic<const Driver*> driver_table{nullptr};
inline constexpr unsigned first_epoch = 1, forked_epoch = 2;
inline constinit std::atomic<unsigned> process_epoch{first_epoch};

/// The opened driver. Only code that got a device may call this.
inline const Driver& driver() { return *driver_table.load(std::memory_order_acquire); }

/// True in a child that was forked after its parent opened the driver: CUDA cannot be used there.
inline bool forked_after_open() { return process_epoch.load(std::memory_order_relaxed) == forked_epoch; }

/// "CUDA 12.4"
std::string version_text(int version);
/// "CUDA_ERROR_INVALID_VALUE (1, invalid argument)"
std::string error_text(CUresult result);

}  // namespace kiln::runtime::cuda
