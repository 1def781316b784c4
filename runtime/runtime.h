// runtime/runtime.h -- the whole contract between dsl and the runtime: devices, memory, binaries, launches.
//
// The runtime knows kernels, not graphs. Errors are kiln::Error subclasses (kiln/error.h). Every function may be called
// from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/kernel.h"

namespace kiln::runtime {

enum class DeviceKind : std::uint8_t { cpu, cuda };

struct DeviceId {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  friend bool operator==(const DeviceId&, const DeviceId&) = default;
};

struct DeviceInfo {
  DeviceId id;
  std::string name;         ///< "NVIDIA H200", or the CPU's model name
  std::string arch;         ///< "sm_90"; CPU: "x86-64 avx2,fma,f16c"
  int multiprocessors = 0;  ///< CPU: threads of the pool
  int threads_per_multiprocessor = 0;
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;
  double peak_bandwidth = 0;  ///< of device memory, bytes per second, by clock and bus width; 0: unknown (CPU)
  int cpu_vector_bits = 0;
  int argument_bytes = 32764;  ///< that one launch may pass to a kernel
};

/// What a compile produced, as stored in the disk cache (design.md section 6).
struct Binary {
  std::vector<char> image;  ///< cubin, PTX text, or an ELF object for the CPU
  bool is_ptx = false;      ///< the image is PTX because NVRTC does not know the architecture
  std::string entry;        ///< lowered name of the kernel in the image
  std::string compiler;     ///< "NVRTC 13.0", "LLVM 19.1.7": for people
  int registers = -1;
  int spill_bytes = -1;
  int shared_bytes = 0;  ///< static shared memory
  int local_bytes = 0;
  double compile_ms = 0;   ///< what compiling it took; 0: it was not compiled here
  std::string ptx;         ///< only when asked for (inspect)
  std::string log;         ///< compiler's log, warnings included
  CompileOptions options;  ///< what it was compiled with; a backend that cannot load the image compiles it again
};

/// Compiles without a cache and without a device. Throws CompileError with the numbered source excerpt and the log.
Binary compile(const KernelSource& source, const CompileOptions& options, bool want_ptx = false);

/// The same through the memory and disk caches: compiled once per key and process, unrelated keys never wait.
std::shared_ptr<const Binary> cached_binary(const KernelSource& source, const CompileOptions& options);

/// The machine code of a cubin as text; empty where disassembler() is, or where the image is PTX.
std::string disassemble(const Binary& binary);
/// The path of nvdisasm or cuobjdump, looked for in PATH and in CUDA toolkits; empty where neither is.
std::string disassembler();

/// Counters for tests and `kiln cache stats`; monotonic per process.
struct CacheCounters {
  std::uint64_t compiles = 0, memory_hits = 0, disk_hits = 0, disk_misses = 0, disk_rejects = 0, disk_errors = 0;
  std::uint64_t bundle_hits = 0, bundle_misses = 0;
};
CacheCounters cache_counters();

/// A native stream: CUstream, or null for the CPU (whose work is done when the call returns).
using NativeStream = void*;

/// A kernel loaded on one device, for all of its contexts.
struct LoadedKernel;

class GraphBackend;

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const DeviceInfo& info() const = 0;
  /// Stream-ordered allocation of at least one byte, 256-byte aligned. Throws OutOfMemory after trim and one retry.
  virtual void* allocate(std::size_t bytes, NativeStream stream) = 0;
  virtual void release(void* memory, NativeStream stream) noexcept = 0;
  /// `kind` as seen from this device.
  enum class Copy : std::uint8_t { host_to_device, device_to_host, device_to_device };
  virtual void copy(void* to, const void* from, std::size_t bytes, Copy kind, NativeStream stream) = 0;
  /// The kernel stays loaded while somebody holds it; work that was enqueued may still run when the last one lets go.
  virtual std::shared_ptr<const LoadedKernel> load(const Binary& binary, const KernelSource& source) = 0;
  /// Unloads kernels that nobody holds, the ones loaded first, until at most `kernels` are left.
  virtual void unload_unused(std::size_t kernels) { static_cast<void>(kernels); }
  /// Enqueues one launch; `arguments` is copied before the call returns.
  virtual void launch(const LoadedKernel& kernel, const LaunchShape& shape, const void* arguments, std::size_t bytes,
                      NativeStream stream) = 0;
  /// The same with one address per parameter of the kernel, for kernels that kiln did not write.
  virtual void launch(const LoadedKernel& kernel, const LaunchShape& shape, void** parameters, NativeStream stream) = 0;
  /// `count` counters that are zero when the next kernel of `stream` begins, and that it must leave zero. No two
  /// streams share them.
  struct Counters {
    void* memory = nullptr;
    bool is_own = false;  ///< made for this launch alone: to be released on the stream after it
  };
  virtual Counters zeroed_counters(std::uint32_t count, NativeStream stream) = 0;
  virtual NativeStream create_stream() = 0;
  virtual void destroy_stream(NativeStream stream) noexcept = 0;
  virtual void synchronize(NativeStream stream) = 0;
  virtual void* create_event() = 0;
  virtual void destroy_event(void* event) noexcept = 0;
  virtual void record_event(void* event, NativeStream stream) = 0;
  virtual void wait_event(NativeStream stream, void* event) = 0;  ///< later work of `stream` waits for `event`
  virtual void synchronize_event(void* event) = 0;
  virtual float elapsed_ms(void* begin, void* end) = 0;
  /// The same without waiting: negative while `end` has not been reached. Disturbs no capture of any thread.
  virtual float elapsed_if_done(void* begin, void* end) { return elapsed_ms(begin, end); }
  /// Whether the work before `event` is done, without waiting. Disturbs no capture of any thread.
  virtual bool is_done(void* /*event*/) { return true; }
  /// For threads of the library's own: from here on nothing that this thread calls ends a capture of another thread.
  virtual void relax_captures() {}
  /// The context that work of `stream` runs in; null on devices that have none. For record_fence.
  virtual void* context_of(NativeStream /*stream*/) { return nullptr; }
  /// A new event after the work that `stream` has so far, recorded in that context, whichever is current.
  virtual void* record_fence(NativeStream stream, void* /*context*/) {
    void* const event = create_event();
    record_event(event, stream);
    return event;
  }
  /// Makes this device's context current on the calling thread if no context is; cheap when already done.
  virtual void bind_thread() = 0;
  /// True while `stream` is being captured into a CUDA graph.
  virtual bool is_capturing(NativeStream stream) = 0;
  /// Graphs of captured work; null on devices that have none, whose recordings are lists of launches.
  virtual GraphBackend* graphs() { return nullptr; }
  /// Whether the device can use an address, as far as the driver knows; `host` means that it certainly cannot.
  enum class Memory : std::uint8_t { unknown, host, device };
  virtual Memory memory_kind(const void*) { return Memory::unknown; }
  /// The number of the device, of this kind, that an address belongs to; -1 where the driver does not know it.
  virtual int device_of(const void*) { return -1; }
};

/// Devices that exist here; the CPU is always listed first. Never throws for a missing driver.
const std::vector<DeviceInfo>& devices();
/// Why a kind of device is missing: "libcuda.so.1 not found (tried ...)", or empty when it is usable.
std::string unavailable_reason(DeviceKind kind);
/// Throws DeviceError when the device does not exist or cannot be used, with the reason.
Backend& backend(DeviceId device);
/// KILN_DEVICE, else the first GPU, else the CPU.
DeviceId default_device();

/// Owner of one allocation or of borrowed memory. The public header touches only `references`.
struct Storage {
  long references = 1;  ///< atomic, first member
  void* memory = nullptr;
  std::size_t bytes = 0;
  DeviceId device;
  Backend* backend = nullptr;
  NativeStream stream = nullptr;     ///< stream of allocation; freed in its order. no_stream where a deleter waits
  bool borrowed = false;             ///< the caller's memory (kl::view): never freed here
  void (*deleter)(void*) = nullptr;  ///< runs once, when the last use is done (DLPack and friends)
  void* deleter_context = nullptr;
  struct Uses;  ///< streams other than `stream` that touched the memory; null until one does
  Uses* uses = nullptr;
  NativeStream producer = nullptr;  ///< of borrowed memory: waits for the uses too, where has_producer
  bool has_producer = false;
  Storage* next = nullptr;  ///< of those whose deleters wait (retirement.h)
};

/// No stream has this handle: every use of such a storage is noted.
inline const NativeStream no_stream = reinterpret_cast<NativeStream>(~std::uintptr_t{0});
/// CUDA's names for the default streams beside null, which is the legacy one.
inline const NativeStream legacy_stream = reinterpret_cast<NativeStream>(std::uintptr_t{1});
inline const NativeStream per_thread_stream = reinterpret_cast<NativeStream>(std::uintptr_t{2});

Storage* allocate_storage(DeviceId device, std::size_t bytes, NativeStream stream);
Storage* borrow_storage(DeviceId device, void* memory, std::size_t bytes);
/// The same for memory whose owner is told, once, when no queued work can touch it any more: soon after the last
/// reference is gone, on any thread. Never where the process ends first.
Storage* borrow_storage(DeviceId device, void* memory, std::size_t bytes, void (*deleter)(void*), void* context);
/// Notes that `stream` uses the memory, so that it is not reused before that stream is done. Cheap for the home stream;
/// may be called before or after the work is enqueued. A wrapped stream of the host must outlive the arrays that were
/// used on it.
void note_use(Storage& storage, NativeStream stream);
/// Called when `references` reaches zero.
void destroy_storage(Storage* storage) noexcept;

}  // namespace kiln::runtime
