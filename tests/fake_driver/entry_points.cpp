// tests/fake_driver/entry_points.cpp -- the entry points of the CUDA driver that kiln uses, over malloc.
#include "tests/fake_driver/fake_state.h"

#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <utility>

// cuda.h renames these to newer versions; the fake exports the symbols of CUDA 12.0.
#undef cuEventElapsedTime

namespace {

using namespace kiln::fake;

CUctx_st primary_contexts[8] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 8}};
unsigned long long next_context = 9;
/// Without a destructor: programs release memory while static objects are destroyed, after those of threads.
struct ContextStack {
  CUcontext contexts[64];
  std::size_t size;
  bool empty() const { return size == 0; }
  CUcontext& back() { return contexts[size - 1]; }
  void push_back(CUcontext context) { contexts[size++] = context; }
  void pop_back() { --size; }
};
constinit thread_local ContextStack context_stack = {};

// The driver's own records, alive after every static destructor: what a program did not free is the driver's, and no
// leak.
std::unordered_map<CUdeviceptr, std::size_t>& allocations = *new std::unordered_map<CUdeviceptr, std::size_t>;
bool has_context() { return !context_stack.empty() && context_stack.back(); }
/// What calls that need a context say without one.
CUresult context_result() {
  if (!has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  return context_stack.back()->is_dead ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

/// The launch that was called last, of any stream.
std::string last_launch() {
  const std::lock_guard lock(state().mutex);
  const auto& calls = state().calls;
  for (auto call = calls.rbegin(); call != calls.rend(); ++call)
    if (call->starts_with("cuLaunchKernel")) return *call;
  return "";
}

std::string event_text(CUevent event) { return "event=" + std::to_string(event->id); }

CUresult allocate(CUdeviceptr* memory, std::size_t bytes) {
  FakeDriver& s = state();
  if (const CUresult result = context_result()) return result;
  const std::lock_guard lock(s.mutex);
  if (s.used + s.held + bytes > s.memory_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  void* const block = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  *memory = reinterpret_cast<CUdeviceptr>(block);
  allocations[*memory] = bytes;
  s.used += bytes;
  return CUDA_SUCCESS;
}

CUresult release(CUdeviceptr memory, bool keep) {
  FakeDriver& s = state();
  const std::lock_guard lock(s.mutex);
  const auto found = allocations.find(memory);
  if (found == allocations.end()) return CUDA_ERROR_INVALID_VALUE;
  s.used -= found->second;
  if (keep) s.held += found->second;
  allocations.erase(found);
  std::free(reinterpret_cast<void*>(memory));
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

FakeDriver* kiln_fake_driver() { return &state(); }

// ------------------------------------------------------------------ driver and devices
CUresult cuInit(unsigned) { return step("cuInit"); }
CUresult cuDriverGetVersion(int* version) {
  *version = state().driver_version;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult result, const char** name) {
  *name = result == CUDA_ERROR_OUT_OF_MEMORY             ? "CUDA_ERROR_OUT_OF_MEMORY"
          : result == CUDA_ERROR_INVALID_IMAGE           ? "CUDA_ERROR_INVALID_IMAGE"
          : result == CUDA_ERROR_INVALID_SOURCE          ? "CUDA_ERROR_INVALID_SOURCE"
          : result == CUDA_ERROR_NO_BINARY_FOR_GPU       ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
          : result == CUDA_ERROR_INVALID_PTX             ? "CUDA_ERROR_INVALID_PTX"
          : result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
          : result == CUDA_ERROR_ILLEGAL_ADDRESS         ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : result == CUDA_ERROR_NO_DEVICE               ? "CUDA_ERROR_NO_DEVICE"
                                                         : "CUDA_ERROR";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "described by the fake driver";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = state().device_count;
  return step("cuDeviceGetCount");
}
CUresult cuDeviceGet(CUdevice* device, int index) {
  *device = index;
  return step("cuDeviceGet");
}
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(length));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR            ? state().major
           : which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR          ? state().minor
           : which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT              ? 132
           : which == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR    ? 2048
           : which == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE                     ? 50 << 20
           : which == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE                 ? 3'200'000
           : which == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH           ? 5120
           : which == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN ? 227 << 10
           : which == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED            ? state().has_pools
                                                                            : 0;
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  *bytes = state().memory_bytes;
  return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int* possible, CUdevice, CUdevice) {
  *possible = 1;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice) {
  *pool = nullptr;
  return CUDA_SUCCESS;
}

// ------------------------------------------------------------------ contexts
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  *context = &primary_contexts[device];
  if (std::exchange((*context)->is_dead, false)) (*context)->id = next_context++;
  return step("cuDevicePrimaryCtxRetain", std::to_string(device));
}
/// As cuDevicePrimaryCtxReset: the context and its memory are gone, its handle stays.
void kiln_fake_reset_primary(int device) { primary_contexts[device].is_dead = true; }
/// As cuCtxCreate: a context of the host's own, made current.
void* kiln_fake_create_context(int device) {
  context_stack.push_back(keep(new CUctx_st{device, next_context++}));
  return context_stack.back();
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = has_context() ? context_stack.back() : nullptr;
  return step("cuCtxGetCurrent");
}
CUresult cuCtxSetCurrent(CUcontext context) {
  if (context_stack.empty()) {
    context_stack.push_back(context);
  } else {
    context_stack.back() = context;
  }
  return step("cuCtxSetCurrent", context ? std::to_string(context->device) : "none");
}
CUresult cuCtxPushCurrent(CUcontext context) {
  context_stack.push_back(context);
  return step("cuCtxPushCurrent", std::to_string(context->device));
}
CUresult cuCtxPopCurrent(CUcontext* context) {
  if (context_stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *context = context_stack.back();
  context_stack.pop_back();
  return step("cuCtxPopCurrent");
}
int kiln_fake_pop_context() {
  CUcontext context = nullptr;
  return cuCtxPopCurrent(&context);
}
CUresult cuCtxGetId(CUcontext context, unsigned long long* number) {
  if (const CUresult result = context_result()) return result;
  *number = (context ? context : context_stack.back())->id;
  return step("cuCtxGetId");
}
CUresult cuCtxGetDevice(CUdevice* device) {
  if (const CUresult result = context_result()) return result;
  *device = context_stack.back()->device;
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() { return step("cuCtxSynchronize"); }

// ------------------------------------------------------------------ memory
CUresult cuMemGetInfo(std::size_t* available, std::size_t* total) {
  *total = state().memory_bytes;
  *available = state().memory_bytes - state().used - state().held;
  return step("cuMemGetInfo");
}
CUresult cuMemAlloc(CUdeviceptr* memory, std::size_t bytes) {
  STEP("cuMemAlloc", std::to_string(bytes));
  return allocate(memory, bytes);
}
CUresult cuMemFree(CUdeviceptr memory) {
  STEP("cuMemFree");
  return release(memory, false);
}
CUresult cuMemAllocAsync(CUdeviceptr* memory, std::size_t bytes, CUstream stream) {
  STEP("cuMemAllocAsync", std::to_string(bytes) + " " + stream_text(stream));
  return allocate(memory, bytes);
}
CUresult cuMemFreeAsync(CUdeviceptr memory, CUstream stream) {
  STEP("cuMemFreeAsync", stream_text(stream));
  return release(memory, true);
}
CUresult cuMemPoolSetAttribute(CUmemoryPool, CUmemPool_attribute, void*) { return step("cuMemPoolSetAttribute"); }
CUresult cuMemPoolGetAttribute(CUmemoryPool, CUmemPool_attribute which, void* value) {
  *static_cast<cuuint64_t*>(value) =
      which == CU_MEMPOOL_ATTR_USED_MEM_CURRENT ? state().used : state().used + state().held;
  return CUDA_SUCCESS;
}
CUresult cuMemPoolTrimTo(CUmemoryPool, std::size_t) {
  state().held = 0;
  return step("cuMemPoolTrimTo");
}
CUresult cuMemPoolSetAccess(CUmemoryPool, const CUmemAccessDesc* access, std::size_t) {
  return step("cuMemPoolSetAccess", std::to_string(access->location.id));
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  STEP("cuMemcpyHtoDAsync", stream_text(stream));
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  STEP("cuMemcpyDtoHAsync", stream_text(stream));
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  STEP("cuMemcpyAsync", stream_text(stream));
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr memory, unsigned char value, std::size_t bytes, CUstream stream) {
  STEP("cuMemsetD8Async", std::to_string(bytes) + " " + stream_text(stream));
  std::memset(reinterpret_cast<void*>(memory), value, bytes);
  return CUDA_SUCCESS;
}
/// Like the driver's: no error for memory that it does not know.
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** values, CUdeviceptr memory) {
  STEP("cuPointerGetAttributes");
  const std::lock_guard lock(state().mutex);
  for (unsigned i = 0; i < count; ++i) {
    const auto known = state().known.find(reinterpret_cast<const void*>(memory));
    const bool is_known = known != state().known.end(), is_allocated = allocations.contains(memory);
    if (attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE) {
      const int type = is_known ? known->second.type : is_allocated ? CU_MEMORYTYPE_DEVICE : 0;
      *static_cast<unsigned*>(values[i]) = static_cast<unsigned>(type);
    } else if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
      *static_cast<int*>(values[i]) = is_known ? known->second.device : is_allocated ? 0 : -2;
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}

// ------------------------------------------------------------------ kernels
CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option*, void**, unsigned, CUlibraryOption*,
                           void**, unsigned) {
  STEP("cuLibraryLoadData");
  *library = keep(new CUlib_st{static_cast<const char*>(image)});
  const std::lock_guard lock(state().mutex);
  state().libraries.insert(*library);
  return CUDA_SUCCESS;
}
CUresult cuLibraryUnload(CUlibrary library) {
  STEP("cuLibraryUnload");
  const std::lock_guard lock(state().mutex);
  return state().libraries.erase(library) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  STEP("cuLibraryGetKernel", name);
  *kernel = keep(new CUkern_st{name, library});
  return CUDA_SUCCESS;
}
CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  STEP("cuKernelGetFunction");
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}
CUresult cuKernelSetAttribute(CUfunction_attribute which, int value, CUkernel, CUdevice) {
  const bool clusters = which == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
  STEP("cuKernelSetAttribute", (clusters ? "clusters=" : "") + std::to_string(value));
  return value > (227 << 10) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, CUstream stream, void** parameters, void**) {
  const auto triple = [](unsigned x, unsigned y, unsigned z) {
    return std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z);
  };
  if (const CUresult result = context_result()) return result;
  STEP("cuLaunchKernel", stream_text(stream) + " grid=" + triple(gx, gy, gz) + " block=" + triple(bx, by, bz) +
                             " shared=" + std::to_string(shared));
  const auto kernel = reinterpret_cast<CUkernel>(function);
  if (!is_loaded(kernel)) return CUDA_ERROR_INVALID_HANDLE;
  if (state().captured) captured_kernels().push_back(kernel);
  copy_arguments(parameters);
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction, void** parameters, void**) {
  if (!has_context()) return CUDA_ERROR_INVALID_CONTEXT;
  std::string attributes;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      attributes += " cluster=" + std::to_string(attribute.value.clusterDim.x);
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
      attributes += " cooperative=" + std::to_string(attribute.value.cooperative);
  }
  STEP("cuLaunchKernelEx", stream_text(config->hStream) + " grid=" + std::to_string(config->gridDimX) +
                               " block=" + std::to_string(config->blockDimX) +
                               " shared=" + std::to_string(config->sharedMemBytes) + attributes);
  copy_arguments(parameters);
  return CUDA_SUCCESS;
}

// ------------------------------------------------------------------ streams and events
CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  *stream = keep(new CUstream_st{++next_id});
  return step("cuStreamCreate", "flags=" + std::to_string(flags));
}
CUresult cuStreamDestroy(CUstream stream) {
  const CUresult result = step("cuStreamDestroy", stream_text(stream));
  delete stream;
  return result;
}
CUresult cuStreamSynchronize(CUstream stream) { return step("cuStreamSynchronize", stream_text(stream)); }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  return step("cuStreamWaitEvent", stream_text(stream) + " " + event_text(event));
}
CUresult cuStreamGetId(CUstream stream, unsigned long long* number) {
  *number = is_default(stream) ? 0 : static_cast<unsigned long long>(stream->id);
  return step("cuStreamGetId");
}
CUresult kiln_fake_stream_context(CUstream, CUcontext* context) __asm__("cuStreamGetCtx");
CUresult kiln_fake_stream_context(CUstream, CUcontext* context) {
  *context = has_context() ? context_stack.back() : nullptr;
  return step("cuStreamGetCtx");
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  const bool captured = state().capturing || (stream && stream == state().captured);
  *status = captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  static thread_local CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::swap(current, *mode);
  return step("cuThreadExchangeStreamCaptureMode", std::to_string(current));
}
CUresult cuEventCreate(CUevent* event, unsigned) {
  *event = keep(new CUevent_st{++next_id, ""});
  return step("cuEventCreate", event_text(*event));
}
CUresult cuEventDestroy(CUevent event) {
  const CUresult result = step("cuEventDestroy", event_text(event));
  delete event;
  return result;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  event->launch = last_launch();
  return step("cuEventRecord", event_text(event) + " " + stream_text(stream));
}
CUresult cuEventQuery(CUevent event) {
  STEP("cuEventQuery", event_text(event));
  const std::lock_guard lock(state().mutex);
  return state().unfinished_queries > 0 && state().unfinished_queries-- > 0 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent event) { return step("cuEventSynchronize", event_text(event)); }
CUresult cuEventElapsedTime(float* milliseconds, CUevent, CUevent end) {
  *milliseconds = state().milliseconds_of ? state().milliseconds_of(end->launch) : 1.5f;
  return step("cuEventElapsedTime");
}

}  // extern "C"
