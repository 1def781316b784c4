// runtime/cuda/kernel.cpp -- loading kernels and launching them.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>

#include "runtime/compile_mode.h"
#include "runtime/cuda/backend.h"
#include "runtime/cuda/compile.h"
#include "runtime/cuda/nvrtc_library.h"
#include "runtime/cuda/relaxed_capture.h"
#include "runtime/cuda_interface.h"
#include "runtime/kernel_limit.h"
#include "runtime/recording.h"
#include "support/check.h"
#include "support/hash.h"
#include "support/log.h"

namespace kiln::runtime::cuda {
namespace {

/// The image does not suit the device or the driver: PTX may.
bool is_wrong_image(CUresult result) {
  return result == CUDA_ERROR_NO_BINARY_FOR_GPU || result == CUDA_ERROR_INVALID_IMAGE ||
         result == CUDA_ERROR_INVALID_PTX || result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ||
         result == CUDA_ERROR_INVALID_SOURCE;
}

}  // namespace

CUlibrary CudaBackend::load_image(const Binary& binary, const KernelSource& source, CUresult& result) {
  CUlibrary library = nullptr;
  char errors[4096] = "";
  CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {errors, reinterpret_cast<void*>(sizeof errors)};
  const unsigned count = binary.is_ptx ? 2 : 0;  // only PTX is compiled, and only a compile has a log
  result = in_context(*this, [&] {
    return driver().library_load(&library, binary.image.data(), names, values, count, nullptr, nullptr, 0);
  });
  if (result != CUDA_SUCCESS && errors[0]) KILN_LOG(1, "kernel {}: the driver says: {}", source.entry, errors);
  return library;
}

void CudaBackend::fail_load(CUresult result, const Binary& binary, const KernelSource& source) {
  if (result == CUDA_ERROR_OUT_OF_MEMORY) check(result, "loading a kernel");
  fail<DeviceError>(
      "kernel {} ({} for {}) cannot be loaded on cuda:{} ({}, {}): {}. The driver supports {}; the kernel was made "
      "by {}. A newer driver, or an older NVRTC (KILN_NVRTC), may help",
      source.entry, binary.is_ptx ? "PTX" : "cubin", binary.options.arch, info_.id.index, info_.name, info_.arch,
      error_text(result), version_text(driver().version), compiler_description());
}

std::shared_ptr<const LoadedKernel> CudaBackend::load_new(const Binary& binary, const KernelSource& source) {
  const RelaxedCapture relaxed;
  CUresult result = CUDA_SUCCESS;
  CUlibrary library = load_image(binary, source, result);
  Binary fallback;
  const Binary* loaded = &binary;
  if (is_wrong_image(result) && !binary.is_ptx && !source.text.empty() && may_compile(compile_mode())) {
    KILN_LOG(1, "kernel {}: the driver refused the cubin ({}); trying PTX", source.entry, error_text(result));
    CompileOptions options = binary.options;
    options.arch = info_.arch;
    fallback = compile_for(source, options, false, true);
    loaded = &fallback;
    library = load_image(fallback, source, result);
  }
  if (result != CUDA_SUCCESS) fail_load(result, *loaded, source);
  auto kernel = std::make_shared<LoadedKernel>();
  kernel->library = library;
  CUkernel handle = nullptr;
  result = in_context(*this, [&] { return driver().library_kernel(&handle, library, loaded->entry.c_str()); });
  if (result != CUDA_SUCCESS) {
    driver().library_unload(library);
    check(result, fmt::format("finding kernel {} in its binary", loaded->entry).c_str());
  }
  // Drivers load lazily, at the first launch, which a stream capture may forbid: load now.
  CUfunction function = nullptr;
  result = in_context(*this, [&] { return driver().kernel_function(&function, handle); });
  if (result != CUDA_SUCCESS) {
    driver().library_unload(library);
    fail_load(result, *loaded, source);
  }
  kernel->function = reinterpret_cast<CUfunction>(handle);
  kernel->argument_bytes = source.argument_bytes;
  kernel->shared_bytes = static_cast<std::uint32_t>(loaded->shared_bytes);
  kernel->allowed_shared -= std::min(kernel->allowed_shared, kernel->shared_bytes);  // both count without opting in
  kernel->max_threads = source.max_threads;
  kernel->name = source.entry;
  return kernel;
}

std::shared_ptr<const LoadedKernel> CudaBackend::load(const Binary& binary, const KernelSource& source) {
  std::string key = to_hex(blake3(std::string_view(binary.image.data(), binary.image.size())));
  key += binary.entry;
  const std::lock_guard lock(kernels_mutex_);  // one load per kernel; loads are short beside compiles
  if (const auto known = kernels_.find(key); known != kernels_.end()) {
    loaded_.splice(loaded_.begin(), loaded_, known->second.place);
    return known->second.kernel;
  }
  std::shared_ptr<const LoadedKernel> kernel = load_new(binary, source);
  const auto slot = kernels_.try_emplace(std::move(key)).first;
  loaded_.push_front(&slot->first);
  slot->second = {kernel, loaded_.begin()};
  constexpr std::size_t looks = 64;  // few, where many are in use
  unload_oldest(kernel_limit(), looks);
  return kernel;
}

void CudaBackend::unload_unused(std::size_t kernels) {
  const std::lock_guard lock(kernels_mutex_);
  unload_oldest(kernels, loaded_.size());
}

/// Those in use are put in front, so that the next search finds others. Whoever let go of a kernel may have launched it
/// a moment ago: the driver waits for what it runs before it frees the code.
void CudaBackend::unload_oldest(std::size_t kernels, std::size_t looks) {
  if (loaded_.size() <= kernels) return;
  const RelaxedCapture relaxed;
  for (; looks > 0 && loaded_.size() > kernels; --looks) {
    const auto oldest = kernels_.find(*loaded_.back());
    const LoadedKernel& kernel = *oldest->second.kernel;
    if (oldest->second.kernel.use_count() > 1 ||
        std::atomic_ref<bool>(kernel.in_foreign_graph).load(std::memory_order_relaxed)) {
      loaded_.splice(loaded_.begin(), loaded_, oldest->second.place);
      continue;
    }
    const CUlibrary library = oldest->second.kernel->library;
    loaded_.pop_back();
    kernels_.erase(oldest);
    const CUresult result = in_context(*this, [&] { return driver().library_unload(library); });
    if (result != CUDA_SUCCESS) KILN_LOG(1, "a kernel cannot be unloaded: {}", error_text(result));
  }
}

void CudaBackend::allow_shared(const LoadedKernel& kernel, std::uint32_t bytes) {
  const std::lock_guard lock(kernels_mutex_);
  if (bytes <= kernel.allowed_shared) return;
  const CUresult result = in_context(*this, [&] {
    return driver().kernel_set_attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(bytes),
                                         reinterpret_cast<CUkernel>(kernel.function), device_);
  });
  if (result != CUDA_SUCCESS) {
    fail<DeviceError>(
        "kernel {}: {} bytes of dynamic shared memory beside {} static ones are more than a block of cuda:{} ({}) can "
        "have, which is {}",
        kernel.name, bytes, kernel.shared_bytes, info_.id.index, info_.name, max_shared_);
  }
  std::atomic_ref<std::uint32_t>(kernel.allowed_shared).store(bytes, std::memory_order_relaxed);
}

/// More than 8 blocks in a cluster are not portable between devices and must be asked for.
void CudaBackend::allow_large_clusters(const LoadedKernel& kernel) {
  const std::lock_guard lock(kernels_mutex_);
  if (kernel.allows_large_clusters) return;
  const CUresult result = in_context(*this, [&] {
    return driver().kernel_set_attribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1,
                                         reinterpret_cast<CUkernel>(kernel.function), device_);
  });
  check(result, "asking for clusters of more than 8 blocks");
  std::atomic_ref<bool>(kernel.allows_large_clusters).store(true, std::memory_order_relaxed);
}

/// A graph that the host captured names the kernels of its nodes and does not hold them: their code stays.
void CudaBackend::note_capture(const LoadedKernel& kernel, NativeStream stream) {
  if (std::atomic_ref<bool>(kernel.in_foreign_graph).load(std::memory_order_relaxed) || recording_of(*this, stream))
    return;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result =
      in_context(*this, [&] { return driver().stream_is_capturing(static_cast<CUstream>(stream), &status); });
  if (result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
    std::atomic_ref<bool>(kernel.in_foreign_graph).store(true, std::memory_order_relaxed);
}

CUresult CudaBackend::launch_extended(const LoadedKernel& kernel, const LaunchShape& shape, void** parameters,
                                      CUstream stream) {
  constexpr std::uint32_t portable_cluster = 8;
  if (shape.cluster > portable_cluster &&
      !std::atomic_ref<bool>(kernel.allows_large_clusters).load(std::memory_order_relaxed))
    allow_large_clusters(kernel);
  CUlaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (shape.cluster > 1) {
    attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[count++].value.clusterDim = {shape.cluster, 1, 1};
  }
  if (shape.cooperative) {
    attributes[count].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attributes[count++].value.cooperative = 1;
  }
  CUlaunchConfig config = {};
  config.gridDimX = shape.grid[0], config.gridDimY = shape.grid[1], config.gridDimZ = shape.grid[2];
  config.blockDimX = shape.block[0], config.blockDimY = shape.block[1], config.blockDimZ = shape.block[2];
  config.sharedMemBytes = shape.shared_bytes;
  config.hStream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  return in_context(*this,
                    [&] { return driver().launch_kernel_extended(&config, kernel.function, parameters, nullptr); });
}

void CudaBackend::launch(const LoadedKernel& kernel, const LaunchShape& shape, const void* arguments, std::size_t bytes,
                         NativeStream stream) {
  KILN_INTERNAL_CHECK(bytes == kernel.argument_bytes, "kernel {} takes {} bytes of arguments and got {}", kernel.name,
                      kernel.argument_bytes, bytes);
  void* parameters[] = {const_cast<void*>(arguments)};
  launch(kernel, shape, parameters, stream);
}

void CudaBackend::launch(const LoadedKernel& kernel, const LaunchShape& shape, void** parameters, NativeStream stream) {
  if (shape.shared_bytes > std::atomic_ref<std::uint32_t>(kernel.allowed_shared).load(std::memory_order_relaxed))
      [[unlikely]]
    allow_shared(kernel, shape.shared_bytes);
  if (stream) note_capture(kernel, stream);  // the default stream cannot be captured
  if (shape.cluster > 1 || shape.cooperative) [[unlikely]] {
    const CUresult result = launch_extended(kernel, shape, parameters, static_cast<CUstream>(stream));
    if (result != CUDA_SUCCESS) fail_launch(result, kernel, shape);
    return;
  }
  const Driver& api = driver();
  const CUresult result = in_context(*this, [&] {
    return api.launch_kernel(kernel.function, shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0],
                             shape.block[1], shape.block[2], shape.shared_bytes, static_cast<CUstream>(stream),
                             parameters, nullptr);
  });
  if (result != CUDA_SUCCESS) [[unlikely]]
    fail_launch(result, kernel, shape);
}

void CudaBackend::fail_launch(CUresult result, const LoadedKernel& kernel, const LaunchShape& shape) {
  const std::string what =
      fmt::format("launching kernel {} with grid {}x{}x{}, block {}x{}x{}, {} bytes of shared memory{}{}", kernel.name,
                  shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0], shape.block[1], shape.block[2],
                  shape.shared_bytes, shape.cluster > 1 ? fmt::format(", clusters of {} blocks", shape.cluster) : "",
                  shape.cooperative ? ", all blocks at once" : "");
  const std::uint64_t threads = std::uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
  const bool refused = result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (refused && kernel.max_threads > 0 && threads > static_cast<std::uint64_t>(kernel.max_threads)) {
    fail<DeviceError>("{} on cuda:{}: a block of {} threads is more than the {} that this kernel was compiled for ({})",
                      what, info_.id.index, threads, kernel.max_threads, error_text(result));
  }
  check(result, what.c_str());
  KILN_INTERNAL_CHECK(false, "a launch failed without an error");
  std::abort();
}

}  // namespace kiln::runtime::cuda
