// runtime/cuda/backend.h -- one CUDA device: contexts, memory, kernels, launches, streams.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cuda/driver_api.h"
#include "runtime/graph_backend.h"
#include "runtime/kernel_limit.h"
#include "runtime/runtime.h"
#include "support/fork_safe.h"

namespace kiln::runtime {

struct LoadedKernel {
  CUlibrary library = nullptr;
  CUfunction function = nullptr;  ///< a CUkernel: the driver finds the function of the stream's or the current context
  std::uint32_t argument_bytes = 0;
  std::uint32_t shared_bytes = 0;                   ///< static
  mutable std::uint32_t allowed_shared = 48 << 10;  ///< dynamic, raised on demand under the backend's mutex
  mutable bool allows_large_clusters = false;       ///< of more than 8 blocks; set on demand under the same mutex
  mutable bool in_foreign_graph = false;            ///< launched into a capture of the host's; set once
  int max_threads = 0;
  std::string name;
  LoadedCount count;
};

}  // namespace kiln::runtime

namespace kiln::runtime::cuda {

class CudaBackend final : public Backend {
 public:
  /// `count` devices exist in this process; with one, a thread that has a context needs no check before a call.
  CudaBackend(CUdevice device, int index, int count);

  const DeviceInfo& info() const override { return info_; }
  void* allocate(std::size_t bytes, NativeStream stream) override;
  void release(void* memory, NativeStream stream) noexcept override;
  void copy(void* to, const void* from, std::size_t bytes, Copy kind, NativeStream stream) override;
  std::shared_ptr<const LoadedKernel> load(const Binary& binary, const KernelSource& source) override;
  void unload_unused(std::size_t kernels) override;
  void launch(const LoadedKernel& kernel, const LaunchShape& shape, const void* arguments, std::size_t bytes,
              NativeStream stream) override;
  void launch(const LoadedKernel& kernel, const LaunchShape& shape, void** parameters, NativeStream stream) override;
  Counters zeroed_counters(std::uint32_t count, NativeStream stream) override;
  NativeStream create_stream() override;
  void destroy_stream(NativeStream stream) noexcept override;
  void synchronize(NativeStream stream) override;
  void* create_event() override;
  void destroy_event(void* event) noexcept override;
  void record_event(void* event, NativeStream stream) override;
  void wait_event(NativeStream stream, void* event) override;
  void synchronize_event(void* event) override;
  float elapsed_ms(void* begin, void* end) override;
  float elapsed_if_done(void* begin, void* end) override;
  bool is_done(void* event) override;
  void relax_captures() override;
  void* context_of(NativeStream stream) override;
  void* record_fence(NativeStream stream, void* context) override;
  void bind_thread() override;
  bool is_capturing(NativeStream stream) override;
  Memory memory_kind(const void* memory) override;
  int device_of(const void* memory) override;
  GraphBackend* graphs() override { return graphs_.get(); }

  /// Lets the other devices read this device's pool, where the hardware can.
  void add_peer(CUdevice peer) { peers_.push_back(peer); }
  CUdevice device() const { return device_; }

 private:
  friend class ContextScope;
  friend class CudaGraphs;

  CUcontext primary_context();
  void forget_primary_context();
  void prepare_pool();
  CUresult try_allocate(CUdeviceptr& memory, std::size_t bytes, CUstream stream);
  void make_room(CUstream stream);
  [[noreturn]] void fail_allocation(CUresult result, std::size_t bytes);
  CUlibrary load_image(const Binary& binary, const KernelSource& source, CUresult& result);
  std::shared_ptr<const LoadedKernel> load_new(const Binary& binary, const KernelSource& source);
  [[noreturn]] void fail_load(CUresult result, const Binary& binary, const KernelSource& source);
  [[noreturn]] void fail_launch(CUresult result, const LoadedKernel& kernel, const LaunchShape& shape);
  void allow_shared(const LoadedKernel& kernel, std::uint32_t bytes);
  void allow_large_clusters(const LoadedKernel& kernel);
  void note_capture(const LoadedKernel& kernel, NativeStream stream);
  CUresult launch_extended(const LoadedKernel& kernel, const LaunchShape& shape, void** parameters, CUstream stream);
  void* zeros(std::uint32_t count, NativeStream stream);
  void drop_counters(NativeStream stream);
  CUresult number_of(NativeStream stream, std::pair<unsigned long long, unsigned long long>& number);
  /// Throws OutOfMemory or DeviceError for a failed call.
  void check(CUresult result, const char* what) const;

  const CUdevice device_;
  const bool only_device_;
  bool has_pools_ = false;
  CUmemoryPool pool_ = nullptr;
  int max_shared_ = 0;
  DeviceInfo info_;
  ForkSafeMutex context_mutex_;
  CUcontext primary_ = nullptr;  // retained, again after the host has reset it; never released
  std::vector<CUdevice> peers_;
  std::once_flag pool_once_;
  ForkSafeMutex kernels_mutex_;
  struct Loaded {
    std::shared_ptr<const LoadedKernel> kernel;
    std::list<const std::string*>::iterator place;
  };
  /// The caller holds the mutex.
  void unload_oldest(std::size_t kernels, std::size_t looks);
  std::map<std::string, Loaded> kernels_;  // by digest of the image
  std::list<const std::string*> loaded_;   // keys of kernels_, the last one first
  struct StreamCounters {
    void* memory = nullptr;
    std::uint32_t count = 0;
  };
  const std::unique_ptr<GraphBackend> graphs_;
  ForkSafeMutex counters_mutex_;
  // By the driver's numbers of the context, whose end takes the memory along, and of the stream.
  std::map<std::pair<unsigned long long, unsigned long long>, StreamCounters> counters_;
};

/// Graphs of the device's streams (graphs.cpp).
std::unique_ptr<GraphBackend> make_graphs(CudaBackend& backend);

/// Makes a context of the device current for the calls made while it lives. The caller's context is kept if it belongs
/// to the device; a thread with none gets the primary context and keeps it. Throws DeviceError in a forked child.
class ContextScope {
 public:
  explicit ContextScope(CudaBackend& backend) {
    if (!(thread_epoch == process_epoch.load(std::memory_order_relaxed) && backend.only_device_)) [[unlikely]]
      enter(backend);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  ~ContextScope() {
    if (pushed_) [[unlikely]]
      leave();
  }
  /// The thread's context is gone: the host popped, destroyed or reset it. The next scope looks again; a thread whose
  /// context is dead gets the primary one.
  static void lost_context(CudaBackend& backend, CUresult result);

 private:
  void enter(CudaBackend& backend);
  void leave() noexcept;

  /// The process epoch in which this thread was found to have a context. A forked child has another epoch, so that its
  /// calls take the slow path, which reports the fork.
  static constinit thread_local unsigned thread_epoch;
  bool pushed_ = false;
};

/// Runs one driver call in a context of the device; a thread that lost its context since the last call gets one and
/// calls again. Without `revive`, what went with a destroyed context stays gone.
template <class Call>
CUresult in_context(CudaBackend& backend, Call call, bool revive = true) {
  CUresult result;
  {
    const ContextScope scope(backend);
    result = call();
  }
  if (result != CUDA_ERROR_INVALID_CONTEXT && (result != CUDA_ERROR_CONTEXT_IS_DESTROYED || !revive)) [[likely]]
    return result;
  ContextScope::lost_context(backend, result);
  const ContextScope scope(backend);
  return call();
}

/// What the driver knows of an address: 0 for ordinary host memory, else a CUmemorytype. Unknown addresses are no error
/// here, where cuPointerGetAttribute would report one to every tool that watches.
CUresult memory_type(const void* memory, unsigned& type);

/// True for results that are no failure while a process ends: the driver or the context has gone first.
inline bool is_teardown(CUresult result) {
  return result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/// The context is beyond repair: every later call gives the same error.
bool is_sticky(CUresult result);

}  // namespace kiln::runtime::cuda
