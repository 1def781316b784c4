// kiln/kiln_c_run.h -- the C interface: launch control, kernels in CUDA C++, recorded launches, profiles. Include
// <kiln/kiln_c.h>.
#ifndef KILN_C_RUN_H
#define KILN_C_RUN_H

#include <kiln/kiln_c_types.h>

#ifdef __cplusplus
extern "C" {
#endif

// What one graph computes, compiled on demand for the types, layouts and devices of its launches, and kept.
typedef struct kiln_kernel kiln_kernel;
// What would be launched, compiled and not run.
typedef struct kiln_inspection kiln_inspection;

// ------------------------------------------------------------------ launch control
// What is 0 is chosen by kiln; along y and z it is 1 where x is given. On the CPU it means nothing. Elementwise kernels
// give the same bits for every launch; reductions and scans join their elements in an order that follows from `block`
// and `items`. What a kernel cannot have is KILN_ERROR_SHAPE.
typedef struct kiln_launch_options {
  size_t struct_size;
  uint32_t grid[3];       // blocks; of graphs over one run of memory, fewer than there are tiles take them in turn
  uint32_t block[3];      // threads of a block; of reductions and scans 32 to 1024, a power of two
  uint32_t items;         // elements of a thread, of graphs; at most 64
  uint32_t shared_bytes;  // dynamic shared memory
  uint32_t cluster;       // blocks of a cluster
  int32_t cooperative;    // 1: all blocks run at the same time, or the launch is an error
  int32_t no_tune;        // 1: this launch is not one of those that the tuner tries schedules with
  int32_t reserved;       // 0
} kiln_launch_options;

// kiln_launch with these options (null: all 0).
KILN_C_API kiln_status kiln_launch_with(kiln_kernel* kernel, const kiln_launch_options* options, void* stream,
                                        const kiln_dl_tensor* const* inputs, size_t input_count,
                                        const void* const* scalars, size_t scalar_count,
                                        const kiln_dl_tensor* const* outputs, size_t output_count) KILN_C_NOEXCEPT;

// The arguments of kiln_launch_with in one structure, which may be kept and changed between launches: for hosts to
// which each argument of a C function costs time, as Python's ctypes.
typedef struct kiln_launch_call {
  size_t struct_size;
  kiln_kernel* kernel;
  void* stream;
  const kiln_dl_tensor* const* inputs;
  size_t input_count;
  const void* const* scalars;
  size_t scalar_count;
  const kiln_dl_tensor* const* outputs;
  size_t output_count;
  const kiln_launch_options* options;  // null: all 0
} kiln_launch_call;
KILN_C_API kiln_status kiln_launch_by(const kiln_launch_call* call) KILN_C_NOEXCEPT;

// ------------------------------------------------------------------ kernels in CUDA C++
// A __global__ function of the host's own: compiled, cached, checked and launched by kiln.
typedef struct kiln_raw_kernel kiln_raw_kernel;

typedef struct kiln_raw_options {
  size_t struct_size;
  const char* const* options;  // of the compiler, in order: "--define-macro=N=4", "--include-path=...", "--std=c++20"
  size_t option_count;
  const char* const* header_names;  // headers that exist only as text, which are found before files
  const char* const* header_texts;
  size_t header_count;
  int32_t no_contract;  // 1: a * b + c is rounded twice
  int32_t fast_math;    // 1: --use_fast_math
  int32_t lineinfo;     // 1: line numbers for profilers and debuggers
  int32_t reserved;     // 0
} kiln_raw_options;

// `name` is that of a plain or extern "C" function, of one in a namespace ("ns::f"), or an instance of a template
// ("scale<float, 4>"). C++17 unless an option says otherwise. Nothing is compiled before it is needed; texts are
// copied.
KILN_C_API kiln_status kiln_raw_kernel_create(const char* name, const char* source, const kiln_raw_options* options,
                                              kiln_raw_kernel** kernel) KILN_C_NOEXCEPT;
// Null is ignored. Launches that are under way finish.
KILN_C_API void kiln_raw_kernel_destroy(kiln_raw_kernel* kernel) KILN_C_NOEXCEPT;
// Into the caches, for architectures that need not be here ("sm_90") or, of none, for the current device.
KILN_C_API kiln_status kiln_raw_kernel_compile(kiln_raw_kernel* kernel, const char* const* archs,
                                               size_t arch_count) KILN_C_NOEXCEPT;
// As kiln_inspect; `arch` null: the current device. `options` may be null.
KILN_C_API kiln_status kiln_raw_kernel_inspect(kiln_raw_kernel* kernel, const char* arch,
                                               const kiln_launch_options* options,
                                               kiln_inspection** inspection) KILN_C_NOEXCEPT;

// One argument of a launch: KILN_ARGUMENT_....
typedef struct kiln_argument {
  int32_t kind;
  int32_t dtype;      // of a number, which is passed in its own size and never converted; else 0
  const void* value;  // a kiln_dl_tensor*, or the address of the number or structure, or the address to be passed
  size_t size;        // of a structure, in bytes; else 0
} kiln_argument;

// `options->grid` blocks, or with `threads` 0 or more as many as that many threads need in one dimension (else
// `threads` is -1). `options->block` 0: the size that keeps most threads resident. Arguments are checked against the
// parameters of the compiled kernel: KILN_ERROR_TYPE lists both. Tensors give the address of their first element; their
// strides are the caller's business.
KILN_C_API kiln_status kiln_raw_kernel_launch(kiln_raw_kernel* kernel, kiln_dl_device device, void* stream,
                                              const kiln_launch_options* options, int64_t threads,
                                              const kiln_argument* arguments, size_t argument_count) KILN_C_NOEXCEPT;

// ------------------------------------------------------------------ recorded launches
// Work that is recorded once and launched many times as one: a CUDA graph, or on the CPU the list of kernels. (Streams
// that the host captures by itself need none of this: launches are captured with them.)
typedef struct kiln_capture kiln_capture;
typedef struct kiln_recording kiln_recording;

// From here on what this thread launches on the capture's stream (CPU: whatever it launches) is recorded and not run.
// `stream` null: one of its own. Captures do not nest. What waits for the device is KILN_ERROR_DEVICE meanwhile.
KILN_C_API kiln_status kiln_capture_begin(kiln_dl_device device, void* stream, kiln_capture** capture) KILN_C_NOEXCEPT;
// The same, to record in place of what `recording` has; where only arguments differ the device's instance is changed
// and not made again. When anything fails the recording stays as it was.
KILN_C_API kiln_status kiln_capture_update(kiln_recording* recording, kiln_capture** capture) KILN_C_NOEXCEPT;
// The stream to launch on.
KILN_C_API void* kiln_capture_stream(const kiln_capture* capture) KILN_C_NOEXCEPT;
// On the thread that began; the capture is gone in every case. `recording` may be null after kiln_capture_update. It
// keeps temporaries and results of kiln_launch_new, not the tensors of the host: those must stay where they are.
KILN_C_API kiln_status kiln_capture_end(kiln_capture* capture, kiln_recording** recording) KILN_C_NOEXCEPT;
// Throws away what was recorded, on the thread that began. Null is ignored.
KILN_C_API void kiln_capture_destroy(kiln_capture* capture) KILN_C_NOEXCEPT;

// In the order of `stream`, a stream of the recording's device. Two launches of one recording never run at once.
KILN_C_API kiln_status kiln_recording_launch(kiln_recording* recording, void* stream) KILN_C_NOEXCEPT;
// Later launches use `after` in place of `before`: of the same type, shape, strides, device and alignment, and of
// memory that overlaps nothing else that is used.
KILN_C_API kiln_status kiln_recording_replace(kiln_recording* recording, const kiln_dl_tensor* before,
                                              const kiln_dl_tensor* after) KILN_C_NOEXCEPT;
KILN_C_API size_t kiln_recording_kernel_count(const kiln_recording* recording) KILN_C_NOEXCEPT;
// Null is ignored. Launches that are under way finish; no other thread may be in a call that uses it.
KILN_C_API void kiln_recording_destroy(kiln_recording* recording) KILN_C_NOEXCEPT;

// ------------------------------------------------------------------ profiles
// Which kernels and copies ran, how often and how long. While none is taken, launches pay one load for it.
typedef struct kiln_profiler kiln_profiler;
typedef struct kiln_profile kiln_profile;

// Counts from here on what this thread enqueues, or with `all_threads` 1 what every thread does. Profiles may overlap.
KILN_C_API kiln_status kiln_profile_start(int32_t all_threads, kiln_profiler** profiler) KILN_C_NOEXCEPT;
// Waits until what was counted is done. The profiler is gone in every case.
KILN_C_API kiln_status kiln_profile_stop(kiln_profiler* profiler, kiln_profile** profile) KILN_C_NOEXCEPT;
// Without a result. Null is ignored.
KILN_C_API void kiln_profiler_destroy(kiln_profiler* profiler) KILN_C_NOEXCEPT;

typedef struct kiln_profile_info {
  size_t struct_size;
  size_t rows;
  double device_ms;    // sum of the rows' times
  double wall_ms;      // from the start until everything counted was done
  double planning_ms;  // of deciding on, compiling and loading kernels, on the host
  uint64_t compiles, loaded_from_disk;
} kiln_profile_info;
// All launches of one kernel, or all copies of one kind, on one device; the longest total time first. Texts live as
// long as the profile.
typedef struct kiln_profile_row {
  size_t struct_size;
  int32_t kind;             // KILN_PROFILE_...
  int32_t reserved;         // 0
  const char* name;         // the kernel's entry point, or which copy
  const char* label;        // the graph's name and place; empty where it has none
  const char* device;       // "cuda:0", "cpu"
  int64_t count, captured;  // launches, and of them those that were recorded, which have no time of their own
  double total_ms, mean_ms, shortest_ms, longest_ms;  // between two events on the stream; CPU: by the steady clock
  double host_ms;                                     // of the calls that enqueued them
  int64_t bytes;                                      // operands read and written once
  double gigabytes_per_second;
  double of_peak;  // of the device's memory bandwidth; -1: not known
} kiln_profile_row;
KILN_C_API kiln_status kiln_profile_get_info(const kiln_profile* profile, kiln_profile_info* info) KILN_C_NOEXCEPT;
KILN_C_API kiln_status kiln_profile_get_row(const kiln_profile* profile, size_t number,
                                            kiln_profile_row* row) KILN_C_NOEXCEPT;
// For people. Lives as long as the profile.
KILN_C_API kiln_status kiln_profile_table(const kiln_profile* profile, const char** table) KILN_C_NOEXCEPT;
KILN_C_API void kiln_profile_destroy(kiln_profile* profile) KILN_C_NOEXCEPT;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // KILN_C_RUN_H
