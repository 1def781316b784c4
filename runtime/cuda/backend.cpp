// runtime/cuda/backend.cpp -- finding devices, contexts of threads, errors in words.
#include "runtime/cuda/backend.h"

#include "runtime/cuda_interface.h"
#include "support/check.h"
#include "support/env.h"
#include "support/log.h"

namespace kiln::runtime::cuda {
namespace {

int attribute(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  return driver().device_attribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

DeviceInfo describe(CUdevice device, int index) {
  DeviceInfo info;
  info.id = {DeviceKind::cuda, index};
  char name[256] = "unknown GPU";
  driver().device_name(name, sizeof name, device);
  info.name = name;
  info.arch = fmt::format("sm_{}{}", attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                          attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  info.multiprocessors = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info.threads_per_multiprocessor = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  info.l2_bytes = static_cast<std::size_t>(attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  const bool long_arguments =
      driver().version >= 12010 && !info.arch.starts_with("sm_5") && !info.arch.starts_with("sm_6");
  info.argument_bytes = long_arguments ? 32764 : 4096;
  driver().device_total_memory(&info.memory_bytes, device);
  // kHz and bits; two transfers per clock.
  info.peak_bandwidth = 2e3 * attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
                        attribute(device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
  return info;
}

}  // namespace

bool is_sticky(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
      return true;
    default:
      return false;
  }
}

CudaBackend::CudaBackend(CUdevice device, int index, int count)
    : device_(device), only_device_(count == 1), info_(describe(device, index)), graphs_(make_graphs(*this)) {
  max_shared_ = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  has_pools_ = attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0 &&
               driver().device_default_pool(&pool_, device) == CUDA_SUCCESS;
}

void CudaBackend::check(CUresult result, const char* what) const {
  if (result == CUDA_SUCCESS) [[likely]]
    return;
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    fail<OutOfMemory>("{} on cuda:{} ({}): {}", what, info_.id.index, info_.name, error_text(result));
  fail<DeviceError>("{} on cuda:{} ({}): {}{}", what, info_.id.index, info_.name, error_text(result),
                    is_sticky(result)
                        ? ". A kernel that was launched earlier, by kiln or by other code in this process, caused it; "
                          "the device cannot be used again before the process is restarted"
                        : "");
}

CUcontext CudaBackend::primary_context() {
  const std::lock_guard lock(context_mutex_);
  if (!primary_) {
    check(driver().primary_context_retain(&primary_, device_), "retaining the primary context");
  }
  return primary_;
}

/// After cuDevicePrimaryCtxReset the old handle is dead until the context is retained again.
void CudaBackend::forget_primary_context() {
  const std::lock_guard lock(context_mutex_);
  primary_ = nullptr;
}

void CudaBackend::bind_thread() { const ContextScope scope(*this); }

/// Once, when the device is first used, in whichever context that is.
void CudaBackend::prepare_pool() {
  if (!has_pools_) return;
  // Keep freed memory in the pool: giving it back to the system at every synchronisation costs more than it saves.
  cuuint64_t threshold = ~cuuint64_t{0};
  driver().pool_set_attribute(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
  for (const CUdevice peer : peers_) {
    int possible = 0;
    if (driver().device_can_access_peer(&possible, peer, device_) != CUDA_SUCCESS || !possible) continue;
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = peer;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    driver().pool_set_access(pool_, &access, 1);
  }
}

constinit thread_local unsigned ContextScope::thread_epoch = 0;

void ContextScope::enter(CudaBackend& backend) {
  if (forked_after_open()) {
    fail<DeviceError>(
        "cuda:{} cannot be used in this process: it was forked from a process that had already used CUDA, and CUDA "
        "does not "
        "survive a fork. Fork before the first use of a GPU, start the worker with exec, or use the CPU device",
        backend.info().id.index);
  }
  const Driver& api = driver();
  CUcontext current = nullptr;
  backend.check(api.context_get_current(&current), "reading the current context");
  CUdevice device = -1;
  if (!current) {
    backend.check(api.context_set_current(backend.primary_context()), "binding the primary context");
  } else if (!backend.only_device_) {
    backend.check(api.context_device(&device), "reading the device of the current context");
    if (device != backend.device_) {
      backend.check(api.context_push(backend.primary_context()), "entering the primary context");
      pushed_ = true;
    }
  }
  std::call_once(backend.pool_once_, [&] { backend.prepare_pool(); });
  thread_epoch = process_epoch.load(std::memory_order_relaxed);
}

void ContextScope::lost_context(CudaBackend& backend, CUresult result) {
  thread_epoch = 0;
  const Driver& api = driver();
  CUcontext current = nullptr;
  CUdevice device = -1;
  if (api.context_get_current(&current) != CUDA_SUCCESS || !current) return;
  // "Destroyed" is also said of a primary context that was reset and not retained since.
  if (result != CUDA_ERROR_CONTEXT_IS_DESTROYED && api.context_device(&device) == CUDA_SUCCESS) return;
  KILN_LOG(1, "cuda:{}: the thread's context was destroyed or reset; going on in the primary one",
           backend.info().id.index);
  backend.forget_primary_context();
  api.context_set_current(backend.primary_context());
}

void ContextScope::leave() noexcept {
  CUcontext ignored = nullptr;
  driver().context_pop(&ignored);
}

std::vector<std::unique_ptr<Backend>> make_backends(std::string& reason) {
  std::vector<std::unique_ptr<Backend>> backends;
  const Driver* const api = open_driver(reason);
  if (!api) return backends;
  int count = 0;
  const CUresult result = api->device_count(&count);
  if (result != CUDA_SUCCESS || count == 0) {
    const std::string visible = foreign_variable("CUDA_VISIBLE_DEVICES");
    reason = fmt::format("the NVIDIA driver lists no GPU{}{}", result == CUDA_SUCCESS ? "" : ": " + error_text(result),
                         visible.empty() ? "" : "; CUDA_VISIBLE_DEVICES=" + visible);
    return backends;
  }
  for (int index = 0; index < count; ++index) {
    CUdevice device = 0;
    if (api->device_get(&device, index) != CUDA_SUCCESS) continue;
    backends.push_back(std::make_unique<CudaBackend>(device, index, count));
    KILN_LOG(1, "cuda:{}: {}, {}", index, backends.back()->info().name, backends.back()->info().arch);
  }
  for (const auto& backend : backends)
    for (const auto& peer : backends)
      if (backend != peer)
        static_cast<CudaBackend&>(*backend).add_peer(static_cast<const CudaBackend&>(*peer).device());
  return backends;
}

}  // namespace kiln::runtime::cuda
