// kiln/detail/bridge.h -- everything the public templates call: a small non-template interface implemented in dsl/.
#pragma once

#include <kiln/dtype.h>
#include <kiln/op.h>

namespace kiln::detail {

/// Where the user wrote something; both values resolve at the call site through default arguments.
struct Where {
  const char* file = nullptr;
  unsigned line = 0;
  static constexpr Where current(const char* f = __builtin_FILE(), unsigned l = __builtin_LINE()) { return {f, l}; }
};

inline constexpr int max_rank = 8;

template <class... N>
concept several_integers = sizeof...(N) > 1 && (std::is_integral_v<N> && ...);

/// Shape, strides, type and device of an array. Interned: equal layouts have equal addresses and are never freed.
struct Layout {
  std::int32_t rank = 0;
  DType dtype = DType::f32;
  std::uint8_t device_kind = 0;  ///< 0 CPU, 1 CUDA
  std::int16_t device_index = 0;
  std::int64_t size = 1;           ///< number of elements
  std::int64_t low = 0, high = 0;  ///< byte range touched, relative to the data pointer; [0,0) when empty
  std::int64_t shape[max_rank] = {};
  std::int64_t strides[max_rank] = {};  ///< in elements
  bool contiguous = false;              ///< C order without gaps
};

struct Storage;  ///< runtime's owner of memory; its first member is the atomic reference count (long)

/// An array as the bridge sees it. A default-constructed Array has all members null.
struct Handle {
  Storage* storage = nullptr;
  void* data = nullptr;  ///< address of element (0, 0, ...)
  const Layout* layout = nullptr;
};

inline void retain(Storage* s) {
  if (s) __atomic_fetch_add(reinterpret_cast<long*>(s), 1L, __ATOMIC_RELAXED);
}
KILN_API void destroy(Storage* s) noexcept;
inline void release(Storage* s) noexcept {
  if (s && __atomic_fetch_sub(reinterpret_cast<long*>(s), 1L, __ATOMIC_ACQ_REL) == 1L) destroy(s);
}

/// A run-time scalar argument as the user passed it: the value and its C++ type.
struct ScalarArgument {
  alignas(8) unsigned char bytes[16] = {};
  DType type = DType::f32;
};

// ------------------------------------------------------------------ recording
/// Collects one trace. Lives on the stack of the library while a trace function runs.
class Recorder;
using NodeId = std::uint32_t;

KILN_API NodeId record_input(Recorder&, unsigned slot, DType type);
/// An affine index operand of an inline expression: slot of an input whose Handle has no storage, whose layout is i64
/// and whose data is the value at the first element times 8, so that view_of moves it as it moves an address.
KILN_API NodeId record_iota(Recorder&, unsigned slot);
/// Scalar argument `slot`, converted by the host to `type`; integers that do not fit throw TypeError at the call.
KILN_API NodeId record_parameter(Recorder&, unsigned slot, DType type);
/// TypeError unless the constant, which was given for a kl::Const parameter, fits `type`.
KILN_API void check_constant(const Recorder&, const ScalarArgument&, DType type);
/// The same of one constant that becomes another, at the given place.
KILN_API void check_constant(const ScalarArgument&, DType type, Where);
KILN_API NodeId record_literal(Recorder&, DType type, std::uint64_t low_bits, std::uint64_t high_bits, Where);
/// Casts the operands to what the operation's row asks for, checks them, appends the node. `result` must agree with the
/// table.
KILN_API NodeId record_operation(Recorder&, Op op, DType result, const NodeId* operands, unsigned count, Where);
KILN_API NodeId record_cast(Recorder&, NodeId value, DType type, Where);
KILN_API NodeId record_index(Recorder&, NodeId value, int axis, Where);
/// The extent of an axis as i64; of all_axes the number of elements.
inline constexpr int all_axes = INT32_MIN;
KILN_API NodeId record_extent(Recorder&, NodeId value, int axis, Where);
/// TypeError: an operation on values of two traces.
[[noreturn]] KILN_API void mixed_traces(Where);
KILN_API NodeId record_random(Recorder&, NodeId counter, NodeId key, bool normal, DType type, Where);
/// The view operations, in the order of codegen's ViewSpec::Kind. Slice items are 4 numbers each: flags, start, stop,
/// step.
enum class ViewKind : int { transpose, reshape, broadcast_to, squeeze, unsqueeze, flip, slice, shift };
inline constexpr std::int64_t slice_is_index = 1, slice_has_start = 2, slice_has_stop = 4;
KILN_API NodeId record_view(Recorder&, NodeId value, int kind, const std::int64_t* numbers, unsigned count, Where);
KILN_API int rank_of(Recorder&, NodeId value);

/// What kl::shift reads beyond the borders, in the order of codegen's ViewSpec::Boundary.
enum class Beyond : std::int64_t { clamp, wrap, reflect, symmetric, fill };
/// One displacement per axis. `fill`, a scalar of the value's type, for Beyond::fill; else null.
KILN_API NodeId record_shift(Recorder&, NodeId value, const NodeId* fill, Beyond beyond, const std::int64_t* by,
                             unsigned count, Where);

/// Reductions and scans as users call them. Graphs know fewer: the recorder composes the rest.
enum class Reducing : std::uint8_t {
  sum,
  prod,
  max,
  min,
  mean,
  var,
  std_,
  any,
  all,
  argmax,
  argmin,
  norm,
  logsumexp,
  count_nonzero,
  reduce,  ///< by a function of the user's
  cumsum,
  cumprod,
  cummax,
  cummin,
  scan  ///< by a function of the user's
};
constexpr bool is_scan(Reducing f) { return f >= Reducing::cumsum; }

/// Records the user's function on two values, or twice `k` components: `inputs` 0..k-1 are the left ones. Writes `k`
/// nodes of the same types. `function`: the closure, where it captures something.
using CombinerFunction = void (*)(Recorder&, const void* function, const NodeId* inputs, NodeId* outputs);
/// What ReductionCall::extra is for a function that captures: it is recorded at once, and equal records are one.
KILN_API std::uint64_t captured_combiner(CombinerFunction trace, const void* function, const DType* types,
                                         unsigned count, Where);

/// One call of a reduction or scan. Axes are 4-bit two's complement numbers in the order written, the first one lowest;
/// the number of axes, flags and the Reducing follow.
struct ReductionCall {
  static constexpr int count_shift = 32, function_shift = 40;
  static constexpr std::uint64_t named = std::uint64_t{1} << 36;  ///< without it all axes are meant
  static constexpr std::uint64_t keepdims = std::uint64_t{1} << 37;
  static constexpr std::uint64_t captured = std::uint64_t{1} << 38;  ///< `extra` is what captured_combiner gave
  std::uint64_t bits = 0;
  std::uint64_t extra = 0;  ///< kl::ddof, a CombinerFunction, or what captured_combiner gave
};
/// `operands` is the value; a user's function has a second one, the identity (both tuples, or neither). `result` is the
/// type that reduction_rules.h gives: of sum, prod and mean the type in which they accumulate.
KILN_API NodeId record_reduction(Recorder&, const ReductionCall& call, DType result, const NodeId* operands,
                                 unsigned count, Where);
/// Two or three values as one operand of a user's reduction, and a component of its result.
KILN_API NodeId record_tuple(Recorder&, const NodeId* values, unsigned count, Where);
KILN_API NodeId record_component(Recorder&, NodeId tuple, unsigned component, Where);

/// One call of kl::take or kl::take_along_axis.
struct TakeCall {
  static constexpr std::uint64_t flat = 1, along = 2, clip = 4, wrap = 8;
  std::uint64_t flags = 0;
  std::int64_t axis = 0;
};
KILN_API NodeId record_take(Recorder&, const TakeCall& call, NodeId source, NodeId indices, Where);

// ------------------------------------------------------------------ executing
/// One static site per expression type or jit object: the table from layouts to finished plans. Trivially destructible.
struct Site {
  void* table = nullptr;  ///< published by release store, read by one acquire load
};

/// User options that change generated code.
struct CodeOptions {
  bool contract = true;
  bool fast_math = false;
  bool lineinfo = false;
};

/// User launch control (api.md section 5); zeros leave the choice to kiln.
struct LaunchControl {
  unsigned grid[3] = {0, 0, 0};
  unsigned block[3] = {0, 0, 0};
  unsigned items = 0;
  unsigned shared_bytes = 0;
  unsigned cluster = 0;
  bool cooperative = false;
  bool tune = true;
  void* stream = nullptr;
  bool has_stream = false;
  int stream_kind = -1, stream_index = -1;  ///< the stream's device, where it is known
  Where where = {};
};

/// A destination. `resizable` (Array): reallocated when default-constructed or of another shape. Otherwise (View) the
/// result must broadcast into it.
struct Target {
  Handle* handle = nullptr;
  DType type = DType::f32;
  bool resizable = false;
};

/// Writes one node id per target into `outputs`.
using TraceFunction = void (*)(Recorder&, const void* environment, NodeId* outputs);

/// How kl::scatter_add and its like join updates to the elements of a target.
enum class Scattering : std::uint8_t { add, maximum, minimum };

/// A call whose first output joins elements of the first target, at the places that the second output gives.
struct ScatterTarget {
  Scattering operation = Scattering::add;
  int rank = 0;
  std::int64_t shape[max_rank] = {};  ///< of the updates
};

struct Call {
  // Member by member: g++ clears an aggregate of so many zeros by `rep stos`, which takes as long as a tenth of the
  // call.
  Call() {}  // NOLINT(modernize-use-equals-default)

  const Handle* inputs = nullptr;
  const ScalarArgument* scalars = nullptr;
  Target* targets = nullptr;
  const void* const* tags = nullptr;  ///< structural identities of type-erased parts (let), part of the key
  unsigned input_count = 0, scalar_count = 0, target_count = 0, tag_count = 0;
  TraceFunction trace = nullptr;
  const void* environment = nullptr;
  const char* name = nullptr;  ///< the user's name for a jit function, or null
  CodeOptions options;
  const LaunchControl* launch = nullptr;
  const ScatterTarget* scatter = nullptr;
  Site* group = nullptr;     ///< of the compiled function, whose argument types may have sites of their own
  bool is_function = false;  ///< of a traced lambda, whose lines stand in for a call that does not know its own
  Where where;
  Where definition;  ///< of the function: said where nothing else is known
};

/// Frees the table of a site that belongs to a jit object. Static sites are never freed.
KILN_API void destroy(Site& site) noexcept;

/// From here on argument types that the function was not compiled for are a TypeError.
KILN_API void seal(Site& group);

/// What the function was compiled for so far; see kiln/inspect.h.
struct Specializations;
KILN_API Specializations* specializations(Site& group);

/// Runs the expression once: looks up or makes the plan, allocates results, launches. Asynchronous on the current
/// stream.
KILN_API void execute(Site& site, const Call& call);

/// Fills the caches with the kernels of a call; see precompile of kiln/detail/program.h.
void precompile(Site& site, const Call& call, const char* arch);

/// inspect(): plans and compiles without running; `arch` null means the device of the operands. See kiln/inspect.h.
struct Inspection;
KILN_API Inspection* inspect(Site& site, const Call& call, const char* arch);
KILN_API void destroy(Inspection*) noexcept;

// ------------------------------------------------------------------ layouts and arrays
/// Throws ShapeError for rank > 8, negative extents or sizes beyond 2^63 bytes. strides null = C order.
KILN_API const Layout* intern(DType type, int device_kind, int device_index, const std::int64_t* shape, int rank,
                              const std::int64_t* strides);
/// The view of `h` described as in record_view; for expressions `h.data` may be an index offset. Does not retain.
KILN_API Handle view_of(const Handle& h, int kind, const std::int64_t* numbers, unsigned count, Where);
/// The common shape of several layouts by NumPy's rules; writes into `shape` and returns the rank.
KILN_API int broadcast_shape(const Layout* const* layouts, unsigned count, std::int64_t* shape, Where);

KILN_API Handle allocate(DType type, const std::int64_t* shape, int rank, Where = {});  // current device and stream
KILN_API Handle from_host(DType type, const void* values, const std::int64_t* shape, int rank, Where = {});
KILN_API Handle borrow(DType type, void* data, const std::int64_t* shape, int rank, const std::int64_t* strides,
                       int device_kind, int device_index, Where = {});
/// Memory for a result on a named device, on its current stream.
KILN_API Handle allocate_on(DType type, const std::int64_t* shape, int rank, int device_kind, int device_index,
                            Where = {});
KILN_API void to_host(const Handle& h, void* values, Where);  // C order; waits for the current stream
/// OutOfMemory: the host has no room for the elements.
[[noreturn]] KILN_API void fail_host_memory(std::int64_t elements, std::size_t element_bytes, Where);
KILN_API Handle clone(const Handle& h, Where = {});  // C order copy on the same device
/// Array = Array&&: exchanges the handles; while a capture records the device, copies into the memory that is there.
KILN_API void move_array(Handle& to, Handle& from) noexcept;
KILN_API Handle to_device(const Handle& h, int device_kind, int device_index, Where = {});
KILN_API Handle load_npy(const char* path, DType type, Where);
/// Reads the header only; writes the extents into `shape` (max_rank of them) and returns the rank.
KILN_API int npy_info(const char* path, DType& type, std::int64_t* shape, bool& fortran_order, Where);
KILN_API void save_npy(const char* path, const Handle& h, Where);

// ------------------------------------------------------------------ devices and streams
// A device is (kind, index): kind 0 CPU, 1 CUDA. Functions throw DeviceError, with the reason, for a device that does
// not exist or cannot be used.
KILN_API void current_device(int& kind, int& index);
KILN_API void set_current_device(int kind, int index, Where = {});  // of this thread
/// Devices that exist here; device `position` of the list, the CPU first.
KILN_API int device_count();
KILN_API void device_at(int position, int& kind, int& index);
KILN_API bool device_available(int kind, int index) noexcept;
/// Why a device cannot be used and what to do, or "". Lives until the thread asks again.
KILN_API const char* device_unavailable_reason(int kind, int index);
KILN_API const char* device_name(int kind, int index);  // static storage: "NVIDIA H200"
KILN_API const char* device_arch(int kind, int index);  // static storage: "sm_90"
/// Waits for all streams that kiln knows on the device: the default stream, this thread's current one and every
/// kl::Stream.
KILN_API void synchronize_device(int kind, int index);

/// Native streams; null is the default stream, and the only one of the CPU. Destroyed streams are kept for reuse, so
/// that memory which is still to be freed in their order can be.
KILN_API void* create_stream(int kind, int index, Where = {});
KILN_API void destroy_stream(int kind, int index, void* stream) noexcept;
KILN_API void synchronize_stream(int kind, int index, void* stream);
KILN_API void* current_stream(int kind, int index);  // of this thread on that device
KILN_API void set_current_stream(int kind, int index, void* stream);

KILN_API void* create_event(int kind, int index, Where = {});
KILN_API void destroy_event(int kind, int index, void* event) noexcept;
KILN_API void record_event(int kind, int index, void* event, void* stream);
/// Later work of `stream`, on the device of `stream`, waits for `event`.
KILN_API void wait_event(int kind, int index, void* stream, void* event);
KILN_API void synchronize_event(int kind, int index, void* event);
KILN_API float elapsed_ms(int kind, int index, void* begin, void* end);

}  // namespace kiln::detail
