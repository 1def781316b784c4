// kiln/kiln_c.h -- the C interface: graphs, kernels, launches, bundles, caches and hooks, as a stable C99 ABI.
//
//   kiln_graph* graph;                                     // y = a * x + y
//   kiln_value x, y, a, t[2];
//   kiln_graph_create(&graph);
//   kiln_graph_input(graph, KILN_F32, 1, &x);
//   kiln_graph_input(graph, KILN_F32, 1, &y);
//   kiln_graph_scalar(graph, KILN_F32, KILN_WEAK, &a);
//   t[0] = a, t[1] = x, kiln_graph_operation(graph, KILN_OP_mul, t, 2, &t[0]);
//   t[1] = y, kiln_graph_operation(graph, KILN_OP_add, t, 2, &t[0]);
//   kiln_graph_output(graph, t[0]);
//   kiln_kernel_create(graph, NULL, &kernel);
//   kiln_launch(kernel, stream, inputs, 2, scalars, 1, outputs, 1);
//
// Every function may be called from any thread, throws nothing, and returns a status unless it cannot fail; objects may
// be used by many threads at once, graphs by one at a time. After any error everything stays usable. What functions
// return through pointers is written on success only. Strings are UTF-8.
#ifndef KILN_C_H
#define KILN_C_H

#include <kiln/kiln_c_graph.h>
#include <kiln/kiln_c_run.h>

#ifdef __cplusplus
extern "C" {
#endif

// The version of this interface: functions, members and numbers are added under the same one, and the number changes
// when one of them changes its meaning. A program compares KILN_ABI_VERSION, that of the header, with the library's.
#define KILN_ABI_VERSION 1
KILN_C_API int32_t kiln_abi_version(void) KILN_C_NOEXCEPT;
// "0.1.0"; static storage.
KILN_C_API const char* kiln_version(void) KILN_C_NOEXCEPT;

// What the last function of this thread that failed had to say: the function, what was wrong, where, and what to do.
// Valid until the next one fails on this thread; empty before the first.
KILN_C_API const char* kiln_last_error(void) KILN_C_NOEXCEPT;
// "KILN_ERROR_SHAPE"; static storage.
KILN_C_API const char* kiln_status_name(kiln_status status) KILN_C_NOEXCEPT;

// ------------------------------------------------------------------ devices
typedef struct kiln_device_info {
  size_t struct_size;
  kiln_dl_device device;
  const char* name;  // "NVIDIA H200"; static storage
  const char* arch;  // "sm_90", or the CPU's instruction set; static storage
} kiln_device_info;
// The devices that can be used here; the CPU comes first.
KILN_C_API kiln_status kiln_device_count(size_t* count) KILN_C_NOEXCEPT;
KILN_C_API kiln_status kiln_device_at(size_t position, kiln_device_info* info) KILN_C_NOEXCEPT;
// A stream of its own for programs that have none (a CUstream); on the CPU null, for work is done when a call returns.
KILN_C_API kiln_status kiln_stream_create(kiln_dl_device device, void** stream) KILN_C_NOEXCEPT;
// Waits for its work. Only streams of kiln_stream_create.
KILN_C_API kiln_status kiln_stream_destroy(kiln_dl_device device, void* stream) KILN_C_NOEXCEPT;
// Waits for the work of one stream (a CUstream; null: the default one).
KILN_C_API kiln_status kiln_synchronize(kiln_dl_device device, void* stream) KILN_C_NOEXCEPT;
// Work that `later` gets from here on waits for what `earlier` has by now; both are streams of the device. The host
// does not wait. KILN_ERROR_DEVICE where only one of them is being captured into a graph.
KILN_C_API kiln_status kiln_stream_order(kiln_dl_device device, void* earlier, void* later) KILN_C_NOEXCEPT;

// Calls release(owner) once, from any thread, when the work that `stream` has by now is done (never while it is being
// captured, and not at all where the process ends before): for what a launch reads and the host wants to let go of,
// such as tensors of DLPack, release being their deleter. On the CPU at once. Where it fails, `owner` stays the
// caller's.
KILN_C_API kiln_status kiln_release_after(kiln_dl_device device, void* stream, void (*release)(void* owner),
                                          void* owner) KILN_C_NOEXCEPT;

// ------------------------------------------------------------------ kernels
typedef struct kiln_options {
  size_t struct_size;
  int32_t no_contract;  // 1: a * b + c is rounded twice
  int32_t fast_math;    // 1: approximate division and functions, which may lose digits
  int32_t lineinfo;     // 1: machine code knows the places of kiln_graph_at
} kiln_options;

// The graph is copied. `options` null: all 0. KILN_ERROR_ARGUMENT unless the graph has outputs.
KILN_C_API kiln_status kiln_kernel_create(const kiln_graph* graph, const kiln_options* options,
                                          kiln_kernel** kernel) KILN_C_NOEXCEPT;
// Null is ignored. Launches that are under way finish; no other thread may be in a call that uses the kernel.
KILN_C_API void kiln_kernel_destroy(kiln_kernel* kernel) KILN_C_NOEXCEPT;
// Compiles for tensors in C order, of 1024 elements along the last axis and 4 along the others, and of 1025 and 5, into
// the caches (reductions of other lengths may be other kernels: record a run instead): for the devices of these names
// ("sm_90", "x86-64-v3"), which need not be here, or, of none, for the current device.
KILN_C_API kiln_status kiln_kernel_compile(kiln_kernel* kernel, const char* const* archs,
                                           size_t arch_count) KILN_C_NOEXCEPT;

// ------------------------------------------------------------------ launching
// Computes the outputs on `stream`, a CUstream of the device of the tensors (null: the default one; the CPU has none),
// and returns before the work is done; on the CPU after it. All tensors are on one device; pinned and managed memory
// goes with it. `scalars[i]` points to one element of the type of scalar i, which is copied. Outputs have the graph's
// types, and shapes that the results broadcast into; they may overlap inputs and one another's inputs as they like.
// Nothing is written unless KILN_OK is returned. A launch whose kernels are known takes no lock and allocates nothing
// but temporaries.
KILN_C_API kiln_status kiln_launch(kiln_kernel* kernel, void* stream, const kiln_dl_tensor* const* inputs,
                                   size_t input_count, const void* const* scalars, size_t scalar_count,
                                   const kiln_dl_tensor* const* outputs, size_t output_count) KILN_C_NOEXCEPT;
// The same with tensors of kiln, all on `device`.
KILN_C_API kiln_status kiln_launch_raw(kiln_kernel* kernel, kiln_dl_device device, void* stream,
                                       const kiln_tensor* inputs, size_t input_count, const void* const* scalars,
                                       size_t scalar_count, const kiln_tensor* outputs,
                                       size_t output_count) KILN_C_NOEXCEPT;
// The same with new tensors for the results, on the device of the inputs or, of none, the current one. The caller calls
// their deleters, after which the memory is used again in the order of the stream.
KILN_C_API kiln_status kiln_launch_new(kiln_kernel* kernel, void* stream, const kiln_dl_tensor* const* inputs,
                                       size_t input_count, const void* const* scalars, size_t scalar_count,
                                       kiln_dl_managed_tensor_versioned** outputs, size_t output_count) KILN_C_NOEXCEPT;

// target[.., indices[i], ..] joins updates[i], for every i, along `axis`: KILN_SCATTER_... as kl::scatter_add and its
// like. `indices` are integers; a negative one counts from the end, and one outside is left out.
KILN_C_API kiln_status kiln_scatter(int32_t operation, void* stream, const kiln_dl_tensor* target, int32_t axis,
                                    const kiln_dl_tensor* indices, const kiln_dl_tensor* updates) KILN_C_NOEXCEPT;

// ------------------------------------------------------------------ tensors, for programs that have no others
// Uninitialised, in C order; from kiln_set_allocator's memory. Freed by the tensor's deleter.
KILN_C_API kiln_status kiln_tensor_create(kiln_dl_device device, void* stream, int32_t dtype, const int64_t* shape,
                                          int32_t rank, kiln_dl_managed_tensor_versioned** tensor) KILN_C_NOEXCEPT;
// Elements in C order from or to host memory, on `stream`. Returns when `host` has been read or written.
KILN_C_API kiln_status kiln_tensor_upload(const kiln_dl_tensor* tensor, void* stream, const void* host,
                                          size_t bytes) KILN_C_NOEXCEPT;
KILN_C_API kiln_status kiln_tensor_download(const kiln_dl_tensor* tensor, void* stream, void* host,
                                            size_t bytes) KILN_C_NOEXCEPT;

// ------------------------------------------------------------------ inspecting
typedef struct kiln_kernel_info {
  size_t struct_size;
  uint32_t grid[3], block[3];                    // 0 on the CPU
  int32_t registers, spill_bytes, shared_bytes;  // -1: not known
  int32_t reserved;
  double occupancy;     // resident threads by the most possible; -1: not known
  int64_t bytes_moved;  // of operands read and written once
  int64_t operations;   // arithmetic ones
} kiln_kernel_info;

// `arch` ("sm_90") need not be here, and then the tensors' data may be null; null: the device of the tensors. Outputs
// may be left out (null and 0): new ones.
KILN_C_API kiln_status kiln_inspect(kiln_kernel* kernel, const char* arch, const kiln_dl_tensor* const* inputs,
                                    size_t input_count, const kiln_dl_tensor* const* outputs, size_t output_count,
                                    kiln_inspection** inspection) KILN_C_NOEXCEPT;
KILN_C_API void kiln_inspection_destroy(kiln_inspection* inspection) KILN_C_NOEXCEPT;
KILN_C_API size_t kiln_inspection_kernel_count(const kiln_inspection* inspection) KILN_C_NOEXCEPT;
KILN_C_API kiln_status kiln_inspection_kernel(const kiln_inspection* inspection, size_t kernel,
                                              kiln_kernel_info* info) KILN_C_NOEXCEPT;
// KILN_TEXT_..., of kernel number `kernel` where it is that of one. Lives as long as the inspection.
KILN_C_API kiln_status kiln_inspection_text(const kiln_inspection* inspection, int32_t which, size_t kernel,
                                            const char** text) KILN_C_NOEXCEPT;

// ------------------------------------------------------------------ bundles and caches
// A file that `kiln bundle build` made. The bundle loaded last is looked into first.
KILN_C_API kiln_status kiln_bundle_load(const char* path) KILN_C_NOEXCEPT;
// The same from memory, which is not copied and stays until the process ends; aligned to 64 bytes. `name` for messages.
KILN_C_API kiln_status kiln_bundle_load_memory(const void* data, size_t bytes, const char* name) KILN_C_NOEXCEPT;
// KILN_COMPILE_..., of the process.
KILN_C_API kiln_status kiln_set_compile_mode(int32_t mode) KILN_C_NOEXCEPT;
KILN_C_API int32_t kiln_compile_mode(void) KILN_C_NOEXCEPT;

typedef struct kiln_cache_stats {
  size_t struct_size;
  // Of this process, since it started.
  uint64_t compiles, memory_hits, disk_hits, disk_misses, disk_rejects, disk_errors, bundle_hits, bundle_misses;
  // Of the directory on disk.
  uint64_t disk_entries, disk_bytes;
} kiln_cache_stats;
KILN_C_API kiln_status kiln_cache_get_stats(kiln_cache_stats* stats) KILN_C_NOEXCEPT;
// Removes the entries on disk that were not used for longest until the rest is at most so large. Kernels in use stay.
KILN_C_API kiln_status kiln_cache_prune(uint64_t bytes) KILN_C_NOEXCEPT;
// Removes all entries on disk.
KILN_C_API kiln_status kiln_cache_clear(void) KILN_C_NOEXCEPT;

// ------------------------------------------------------------------ hooks of the host
// Set before the first launch, or while no other thread is in a call of kiln. They may be called from any thread. One
// that throws, as a C++ host's might, is KILN_ERROR_CALLBACK.

// Memory of results and temporaries. `allocate` returns `bytes` bytes aligned to 256 that work on `stream` may use from
// then on, or null where there are none; `deallocate` takes them back when the work given to `stream` so far is done
// with them. Both are called with the device's context current.
typedef struct kiln_allocator {
  size_t struct_size;
  void* context;
  void* (*allocate)(void* context, kiln_dl_device device, size_t bytes, void* stream);
  void (*deallocate)(void* context, kiln_dl_device device, void* memory, size_t bytes, void* stream);
} kiln_allocator;
// Null: kiln's own. What was allocated before goes back to where it came from.
KILN_C_API kiln_status kiln_set_allocator(const kiln_allocator* allocator) KILN_C_NOEXCEPT;

// Memory of graphs, kernels and tensors' descriptions that are made from here on; aligned as malloc's. The compiler and
// the planning of a new kernel use C++'s operator new, which a host may replace in its own program.
typedef struct kiln_host_allocator {
  size_t struct_size;
  void* context;
  void* (*allocate)(void* context, size_t bytes);
  void (*deallocate)(void* context, void* memory, size_t bytes);
} kiln_host_allocator;
KILN_C_API kiln_status kiln_set_host_allocator(const kiln_host_allocator* allocator) KILN_C_NOEXCEPT;

// Runs body(argument, k) for every k in [0, count), on any threads, and returns 0 when all are done; another number
// where some were not run, which fails the launch. In place of kiln's own threads for kernels of the CPU.
typedef int32_t (*kiln_parallel_for)(void* context, int64_t count, void (*body)(void* argument, int64_t k),
                                     void* argument);
// Null: kiln's own.
KILN_C_API kiln_status kiln_set_parallel_for(kiln_parallel_for parallel_for, void* context) KILN_C_NOEXCEPT;

// Takes the messages that would go to stderr: `level` 0 is a warning, others as KILN_DEBUG. `message` lives until the
// function returns.
typedef void (*kiln_log)(void* context, int32_t level, const char* message);
// Null: stderr.
KILN_C_API kiln_status kiln_set_log(kiln_log log, void* context) KILN_C_NOEXCEPT;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // KILN_C_H
