// kiln/kiln_c_graph.h -- the C interface: graphs, node by node and as text. Include <kiln/kiln_c.h>.
#ifndef KILN_C_GRAPH_H
#define KILN_C_GRAPH_H

#include <kiln/kiln_c_types.h>

#ifdef __cplusplus
extern "C" {
#endif

// A graph is a list of values, each made by one call and numbered in the order of the calls. Types and ranks are
// checked at each call, with the rules of docs/semantics.md; extents are known when a kernel is launched. A call that
// fails adds nothing and leaves its results alone. A graph is used by one thread at a time; kernels made of it are
// their own.
typedef struct kiln_graph kiln_graph;

KILN_C_API kiln_status kiln_graph_create(kiln_graph** graph) KILN_C_NOEXCEPT;
// Null is ignored.
KILN_C_API void kiln_graph_destroy(kiln_graph* graph) KILN_C_NOEXCEPT;
// Messages, profiles and kernels' sources call what is computed by this name. UTF-8, without quotes and line ends.
KILN_C_API kiln_status kiln_graph_set_name(kiln_graph* graph, const char* name) KILN_C_NOEXCEPT;
// Messages about values made from here on name this place; null: none.
KILN_C_API kiln_status kiln_graph_at(kiln_graph* graph, const char* file, int32_t line) KILN_C_NOEXCEPT;
#define KILN_GRAPH_HERE(graph) kiln_graph_at((graph), __FILE__, __LINE__)

// ------------------------------------------------------------------ what comes from outside
// The next tensor of a launch: `rank` axes of extents that each launch may choose. Tensors broadcast where they meet.
KILN_C_API kiln_status kiln_graph_input(kiln_graph* graph, int32_t dtype, int32_t rank,
                                        kiln_value* result) KILN_C_NOEXCEPT;
// The next number of a launch: a run-time parameter, so that another value never compiles anything.
KILN_C_API kiln_status kiln_graph_scalar(kiln_graph* graph, int32_t dtype, int32_t strength,
                                         kiln_value* result) KILN_C_NOEXCEPT;
// A number that is compiled into the kernel; `number` points to one element of `dtype`.
KILN_C_API kiln_status kiln_graph_constant(kiln_graph* graph, int32_t dtype, const void* number, int32_t strength,
                                           kiln_value* result) KILN_C_NOEXCEPT;

// ------------------------------------------------------------------ elementwise
// KILN_OP_...: the operands are cast to their common type and broadcast.
KILN_C_API kiln_status kiln_graph_operation(kiln_graph* graph, int32_t operation, const kiln_value* operands,
                                            size_t operand_count, kiln_value* result) KILN_C_NOEXCEPT;
// The same by the name in kiln/ops.def: "add", "exp", "where".
KILN_C_API kiln_status kiln_graph_operation_by_name(kiln_graph* graph, const char* operation,
                                                    const kiln_value* operands, size_t operand_count,
                                                    kiln_value* result) KILN_C_NOEXCEPT;
// Floats to integers saturate and NaN gives 0; complex to real is KILN_ERROR_TYPE.
KILN_C_API kiln_status kiln_graph_cast(kiln_graph* graph, kiln_value value, int32_t dtype,
                                       kiln_value* result) KILN_C_NOEXCEPT;
// The i64 coordinate of each element along an axis; negative axes count from the end, here and everywhere.
KILN_C_API kiln_status kiln_graph_index(kiln_graph* graph, kiln_value value, int32_t axis,
                                        kiln_value* result) KILN_C_NOEXCEPT;
// The extent of an axis, or with KILN_ALL_AXES the number of elements, as a weak i64 number.
KILN_C_API kiln_status kiln_graph_extent(kiln_graph* graph, kiln_value value, int32_t axis,
                                         kiln_value* result) KILN_C_NOEXCEPT;
// Counter-based random numbers of the shape of `like`: each depends on its place in C order and on `key`, an integer,
// alone, and is that of kl::random with this seed. `dtype` is floating.
KILN_C_API kiln_status kiln_graph_random(kiln_graph* graph, int32_t distribution, int32_t dtype, kiln_value like,
                                         kiln_value key, kiln_value* result) KILN_C_NOEXCEPT;

// ------------------------------------------------------------------ functions of the host's own
// A function of CUDA C++ text that fuses as built-in operations do, with a version for the CPU where it has one.
typedef struct kiln_function kiln_function;

// Writes `count` results, from `count` values of each parameter: arrays of the types below. Called by several threads
// at once. One that throws, as a C++ host's might, makes the launch KILN_ERROR_CALLBACK.
typedef void (*kiln_host_function)(void* context, void* results, const void* const* arguments, int64_t count);

typedef struct kiln_function_description {
  size_t struct_size;
  const char* name;  // a name of C++
  const char* const* parameter_names;
  const int32_t* parameter_types;  // KILN_F32, ...; the text and the host see f16 and bf16 as float
  size_t parameter_count;          // 1 to 8
  int32_t result_type;             // f16 and bf16 are returned as float and rounded where they are stored
  int32_t reserved;                // 0
  const char* text;      // statements that return the result, or one expression; C++17 without includes. It may run on
                         // any values, whose results are dropped, and must come to an end for all of them
  const char* preamble;  // helpers and constants before the function, which it alone sees; may be null
  kiln_host_function host;         // for the CPU; null: KILN_ERROR_TYPE there
  void* context;                   // of `host`
  void (*destroy)(void* context);  // when nothing needs `context` any more, at once where the call fails; may be null
} kiln_function_description;

KILN_C_API kiln_status kiln_function_create(const kiln_function_description* description,
                                            kiln_function** function) KILN_C_NOEXCEPT;
// Null is ignored. Graphs, kernels and recordings that use it keep what they need.
KILN_C_API void kiln_function_destroy(kiln_function* function) KILN_C_NOEXCEPT;
// One operand for each parameter, of a kind that is no higher (integers for a floating one, not the reverse); they
// broadcast.
KILN_C_API kiln_status kiln_graph_call(kiln_graph* graph, const kiln_function* function, const kiln_value* operands,
                                       size_t operand_count, kiln_value* result) KILN_C_NOEXCEPT;

// ------------------------------------------------------------------ reductions and scans
typedef struct kiln_reduce_options {
  size_t struct_size;
  const int32_t* axes;  // axis_count axes; null: all axes
  size_t axis_count;
  int32_t keepdims;         // 1: reduced axes stay, with extent 1
  int32_t accumulate;       // of sum, prod and mean: the type to accumulate in and to return
  int32_t uses_accumulate;  // 1: `accumulate` counts
  int32_t reserved;         // 0
  int64_t ddof;             // of var and std: they divide by the number of elements less this
} kiln_reduce_options;

// KILN_REDUCE_...; `options` null: over all axes.
KILN_C_API kiln_status kiln_graph_reduce(kiln_graph* graph, int32_t reduction, kiln_value value,
                                         const kiln_reduce_options* options, kiln_value* result) KILN_C_NOEXCEPT;
// KILN_SCAN_...: element i joins elements 0 to i along the axis.
KILN_C_API kiln_status kiln_graph_scan(kiln_graph* graph, int32_t scan, kiln_value value, int32_t axis,
                                       kiln_value* result) KILN_C_NOEXCEPT;
// By an operation of the host's own, which must be associative and commutative: `function` has 2 * count inputs without
// axes, the left values and then the right ones, `count` outputs of the same types, and elementwise operations only. It
// is copied. One to three values are joined at once. identities[i], a number, joined with any value gives that value.
KILN_C_API kiln_status kiln_graph_reduce_by(kiln_graph* graph, const kiln_graph* function, const kiln_value* values,
                                            const kiln_value* identities, size_t count,
                                            const kiln_reduce_options* options, kiln_value* results) KILN_C_NOEXCEPT;
// The running form; the function need not be commutative.
KILN_C_API kiln_status kiln_graph_scan_by(kiln_graph* graph, const kiln_graph* function, const kiln_value* values,
                                          const kiln_value* identities, size_t count, int32_t axis,
                                          kiln_value* results) KILN_C_NOEXCEPT;

// ------------------------------------------------------------------ reading elsewhere
// KILN_TAKE_..., KILN_OUTSIDE_...: elements of `source` at integer `indices`.
KILN_C_API kiln_status kiln_graph_take(kiln_graph* graph, int32_t kind, kiln_value source, kiln_value indices,
                                       int32_t axis, int32_t outside, kiln_value* result) KILN_C_NOEXCEPT;
// KILN_BEYOND_...: result[i, j] = value[i - by[0], j - by[1]]. `fill`, a number, with KILN_BEYOND_fill; else
// KILN_NO_VALUE.
KILN_C_API kiln_status kiln_graph_shift(kiln_graph* graph, kiln_value value, const int64_t* by, size_t count,
                                        int32_t beyond, kiln_value fill, kiln_value* result) KILN_C_NOEXCEPT;

// ------------------------------------------------------------------ views: NumPy's, without a copy
// Axis i of the result is axis axes[i]; count 0: all axes in reverse.
KILN_C_API kiln_status kiln_graph_transpose(kiln_graph* graph, kiln_value value, const int32_t* axes, size_t count,
                                            kiln_value* result) KILN_C_NOEXCEPT;
// One extent may be -1: it follows from the others.
KILN_C_API kiln_status kiln_graph_reshape(kiln_graph* graph, kiln_value value, const int64_t* shape, size_t rank,
                                          kiln_value* result) KILN_C_NOEXCEPT;
KILN_C_API kiln_status kiln_graph_broadcast_to(kiln_graph* graph, kiln_value value, const int64_t* shape, size_t rank,
                                               kiln_value* result) KILN_C_NOEXCEPT;
KILN_C_API kiln_status kiln_graph_squeeze(kiln_graph* graph, kiln_value value, const int32_t* axes, size_t count,
                                          kiln_value* result) KILN_C_NOEXCEPT;
// New axes of extent 1 at these places of the result.
KILN_C_API kiln_status kiln_graph_unsqueeze(kiln_graph* graph, kiln_value value, const int32_t* axes, size_t count,
                                            kiln_value* result) KILN_C_NOEXCEPT;
KILN_C_API kiln_status kiln_graph_flip(kiln_graph* graph, kiln_value value, const int32_t* axes, size_t count,
                                       kiln_value* result) KILN_C_NOEXCEPT;
// One item for each of the first axes.
KILN_C_API kiln_status kiln_graph_slice(kiln_graph* graph, kiln_value value, const kiln_slice* items, size_t count,
                                        kiln_value* result) KILN_C_NOEXCEPT;

// ------------------------------------------------------------------ results
// The next tensor that a launch writes. All outputs of a graph are computed together.
KILN_C_API kiln_status kiln_graph_output(kiln_graph* graph, kiln_value value) KILN_C_NOEXCEPT;

// ------------------------------------------------------------------ asking
typedef struct kiln_value_info {
  size_t struct_size;
  int32_t dtype;
  int32_t rank;
  int32_t is_weak;
} kiln_value_info;
typedef struct kiln_graph_info {
  size_t struct_size;
  size_t values;
  size_t inputs;
  size_t scalars;
  size_t outputs;
} kiln_graph_info;
KILN_C_API kiln_status kiln_graph_get_info(const kiln_graph* graph, kiln_graph_info* info) KILN_C_NOEXCEPT;
KILN_C_API kiln_status kiln_graph_get_value(const kiln_graph* graph, kiln_value value,
                                            kiln_value_info* info) KILN_C_NOEXCEPT;
// The values that are the inputs, scalars and outputs, by their numbers.
KILN_C_API kiln_status kiln_graph_get_input(const kiln_graph* graph, size_t number, kiln_value* value) KILN_C_NOEXCEPT;
KILN_C_API kiln_status kiln_graph_get_scalar(const kiln_graph* graph, size_t number, kiln_value* value) KILN_C_NOEXCEPT;
KILN_C_API kiln_status kiln_graph_get_output(const kiln_graph* graph, size_t number, kiln_value* value) KILN_C_NOEXCEPT;

// Of an operation; static storage.
typedef struct kiln_operation_info {
  size_t struct_size;
  int32_t operation;
  int32_t operands;
  const char* name;
  const char* description;
} kiln_operation_info;
KILN_C_API size_t kiln_operation_count(void) KILN_C_NOEXCEPT;
// By position, 0 to kiln_operation_count() - 1.
KILN_C_API kiln_status kiln_operation_at(size_t position, kiln_operation_info* info) KILN_C_NOEXCEPT;

// ------------------------------------------------------------------ as text
// A line per value; docs/c-interface.md has the grammar. UTF-8 with a terminating null: writes at most `capacity` bytes
// and into `length` those of the whole text, without the null. KILN_ERROR_BUFFER where it does not fit; then `buffer`
// may be null. Places in source files are no part of it.
KILN_C_API kiln_status kiln_graph_text(const kiln_graph* graph, char* buffer, size_t capacity,
                                       size_t* length) KILN_C_NOEXCEPT;
// Text of any origin: it is read as if its lines were calls, with all their checks. `length` SIZE_MAX: to the null.
KILN_C_API kiln_status kiln_graph_parse(const char* text, size_t length, kiln_graph** graph) KILN_C_NOEXCEPT;
// The same with functions that the text calls by their names. Texts hold no code of functions: who sends a text can
// call what the host offers, and nothing else.
KILN_C_API kiln_status kiln_graph_parse_with(const char* text, size_t length, const kiln_function* const* functions,
                                             size_t function_count, kiln_graph** graph) KILN_C_NOEXCEPT;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // KILN_C_GRAPH_H
