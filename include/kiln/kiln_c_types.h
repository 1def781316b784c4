// kiln/kiln_c_types.h -- the numbers and small structures of the C interface, see <kiln/kiln_c.h>.
#ifndef KILN_C_TYPES_H
#define KILN_C_TYPES_H

#include <kiln/dlpack_types.h>

#if defined(__GNUC__)
#define KILN_C_API __attribute__((visibility("default")))
#else
#define KILN_C_API
#endif
#if defined(__cplusplus) && __cplusplus >= 201103L
#define KILN_C_NOEXCEPT noexcept
#else
#define KILN_C_NOEXCEPT
#endif

// Numbers never change their meaning and are never used again. Arguments that take one of them are int32_t, and any
// other number is KILN_ERROR_ARGUMENT.

// What went wrong. kiln_last_error() has the words.
typedef enum kiln_status {
  KILN_OK = 0,
  KILN_ERROR_ARGUMENT = 1,       // a null pointer or a number that is none of an enumeration
  KILN_ERROR_SHAPE = 2,          // shapes, axes, ranks or sizes that do not fit
  KILN_ERROR_TYPE = 3,           // element types, or scalar values that an operation does not accept
  KILN_ERROR_COMPILE = 4,        // NVRTC or LLVM rejected a kernel, or no allowed source has it
  KILN_ERROR_DEVICE = 5,         // a device is missing, mixed up, or reported an error
  KILN_ERROR_OUT_OF_MEMORY = 6,  // of the host or of a device
  KILN_ERROR_IO = 7,             // a file could not be read or written
  KILN_ERROR_INTERNAL = 8,       // a defect in kiln: please report it with the message
  KILN_ERROR_CALLBACK = 9,       // a function of the host failed or threw
  KILN_ERROR_BUFFER = 10,        // the buffer is too small; the size that is needed was written
  KILN_ERROR_PARSE = 11          // the text is not one of a graph; the message names the line
} kiln_status;

// Element types.
enum {
  KILN_B1 = 0,  // one byte, 0 or 1
  KILN_I8 = 1,
  KILN_I16 = 2,
  KILN_I32 = 3,
  KILN_I64 = 4,
  KILN_U8 = 5,
  KILN_U16 = 6,
  KILN_U32 = 7,
  KILN_U64 = 8,
  KILN_F16 = 9,    // IEEE binary16
  KILN_BF16 = 10,  // the upper half of a binary32
  KILN_F32 = 11,
  KILN_F64 = 12,
  KILN_C64 = 13,  // two binary32: real part, imaginary part
  KILN_C128 = 14,
  KILN_NO_DTYPE = -1
};

// The elementwise operations of kiln/ops.def; kiln_operation_info() tells what each does.
enum {
  KILN_OP_add = 1,
  KILN_OP_sub = 2,
  KILN_OP_mul = 3,
  KILN_OP_div = 4,
  KILN_OP_mod = 5,
  KILN_OP_neg = 6,
  KILN_OP_fmod = 7,
  KILN_OP_true_divide = 8,
  KILN_OP_floor_divide = 9,
  KILN_OP_remainder = 10,
  KILN_OP_pow = 11,
  KILN_OP_fma = 12,
  KILN_OP_hypot = 13,
  KILN_OP_abs = 14,
  KILN_OP_sign = 15,
  KILN_OP_copysign = 16,
  KILN_OP_eq = 17,
  KILN_OP_ne = 18,
  KILN_OP_lt = 19,
  KILN_OP_le = 20,
  KILN_OP_gt = 21,
  KILN_OP_ge = 22,
  KILN_OP_logical_and = 23,
  KILN_OP_logical_or = 24,
  KILN_OP_logical_not = 25,
  KILN_OP_bit_and = 26,
  KILN_OP_bit_or = 27,
  KILN_OP_bit_xor = 28,
  KILN_OP_bit_not = 29,
  KILN_OP_shl = 30,
  KILN_OP_shr = 31,
  KILN_OP_where = 32,
  KILN_OP_minimum = 33,
  KILN_OP_maximum = 34,
  KILN_OP_fmin = 35,
  KILN_OP_fmax = 36,
  KILN_OP_clip = 37,
  KILN_OP_sqrt = 38,
  KILN_OP_rsqrt = 39,
  KILN_OP_cbrt = 40,
  KILN_OP_exp = 41,
  KILN_OP_exp2 = 42,
  KILN_OP_expm1 = 43,
  KILN_OP_log = 44,
  KILN_OP_log2 = 45,
  KILN_OP_log10 = 46,
  KILN_OP_log1p = 47,
  KILN_OP_sin = 48,
  KILN_OP_cos = 49,
  KILN_OP_tan = 50,
  KILN_OP_asin = 51,
  KILN_OP_acos = 52,
  KILN_OP_atan = 53,
  KILN_OP_atan2 = 54,
  KILN_OP_sinh = 55,
  KILN_OP_cosh = 56,
  KILN_OP_tanh = 57,
  KILN_OP_asinh = 58,
  KILN_OP_acosh = 59,
  KILN_OP_atanh = 60,
  KILN_OP_erf = 61,
  KILN_OP_erfc = 62,
  KILN_OP_lgamma = 63,
  KILN_OP_tgamma = 64,
  KILN_OP_floor = 65,
  KILN_OP_ceil = 66,
  KILN_OP_round = 67,
  KILN_OP_trunc = 68,
  KILN_OP_isnan = 69,
  KILN_OP_isinf = 70,
  KILN_OP_isfinite = 71,
  KILN_OP_real = 72,
  KILN_OP_imag = 73,
  KILN_OP_conj = 74,
  KILN_OP_arg = 75,
  KILN_OP_sigmoid = 76,
  KILN_OP_relu = 77,
  KILN_OP_gelu = 78,
  KILN_OP_gelu_tanh = 79,
  KILN_OP_silu = 80,
  KILN_OP_softplus = 81
};

// Reductions.
enum {
  KILN_REDUCE_sum = 1,
  KILN_REDUCE_prod = 2,
  KILN_REDUCE_max = 3,
  KILN_REDUCE_min = 4,
  KILN_REDUCE_mean = 5,
  KILN_REDUCE_var = 6,
  KILN_REDUCE_std = 7,
  KILN_REDUCE_any = 8,
  KILN_REDUCE_all = 9,
  KILN_REDUCE_argmax = 10,
  KILN_REDUCE_argmin = 11,
  KILN_REDUCE_norm = 12,
  KILN_REDUCE_logsumexp = 13,
  KILN_REDUCE_count_nonzero = 14
};

// Scans.
enum { KILN_SCAN_cumsum = 1, KILN_SCAN_cumprod = 2, KILN_SCAN_cummax = 3, KILN_SCAN_cummin = 4 };

// A number beside an array takes the array's type unless its own kind (bool < integer < floating < complex) is higher.
enum {
  KILN_WEAK = 0,   // as a number written in C or Python: its kind counts, its size does not
  KILN_STRONG = 1  // as an array without axes: its type takes part in promotion
};

// Random numbers.
enum {
  KILN_RANDOM_uniform = 1,  // in [0, 1)
  KILN_RANDOM_normal = 2    // mean 0, variance 1
};

// How kiln_graph_take reads.
enum {
  KILN_TAKE_axis = 1,  // NumPy's take: the axes of the indices replace one axis of the source
  KILN_TAKE_flat = 2,  // from the elements in C order; the shape is that of the indices; no axis is read
  KILN_TAKE_along = 3  // NumPy's take_along_axis
};

// What an index outside [-n, n) of an axis of n elements gives.
enum {
  KILN_OUTSIDE_missing = 1,  // NaN, 0 or false
  KILN_OUTSIDE_clip = 2,     // the first or last element
  KILN_OUTSIDE_wrap = 3      // the index modulo n
};

// What kiln_graph_shift reads beyond the ends of an axis.
enum {
  KILN_BEYOND_clamp = 1,      // a a | a b c d | d d
  KILN_BEYOND_wrap = 2,       // c d | a b c d | a b
  KILN_BEYOND_reflect = 3,    // c b | a b c d | c b
  KILN_BEYOND_symmetric = 4,  // b a | a b c d | d c
  KILN_BEYOND_fill = 5        // the value given
};

// What kiln_scatter does with an update and the element that it meets.
enum { KILN_SCATTER_add = 1, KILN_SCATTER_max = 2, KILN_SCATTER_min = 3 };

// Where kernels come from that this process has not loaded yet.
enum {
  KILN_COMPILE_automatic = 0,    // bundles, then the disk cache, then a compiler
  KILN_COMPILE_bundle_only = 1,  // bundles alone; KILN_ERROR_COMPILE lists every candidate and why it does not suit
  KILN_COMPILE_cache_only = 2,   // the disk cache alone
  KILN_COMPILE_jit_only = 3      // a compiler alone
};

// Texts of an inspection.
enum {
  KILN_TEXT_explain = 1,  // what was fused and why, with the bytes that each kernel moves
  KILN_TEXT_graph = 2,    // the graph that the kernels are made from, a line per node
  KILN_TEXT_dot = 3,      // the same for Graphviz
  KILN_TEXT_source = 4,   // of one kernel: CUDA C++, or LLVM IR for the CPU
  KILN_TEXT_ptx = 5,      // of one kernel; empty for the CPU
  KILN_TEXT_sass = 6,     // of one kernel: machine code, empty where no disassembler is installed; CPU: assembly
  KILN_TEXT_name = 7,     // of one kernel: its entry point
  KILN_TEXT_schedule = 8  // of one kernel, in a line
};

// An argument of a raw kernel.
enum { KILN_ARGUMENT_tensor = 1, KILN_ARGUMENT_number = 2, KILN_ARGUMENT_structure = 3, KILN_ARGUMENT_address = 4 };

// What a row of a profile counts.
enum { KILN_PROFILE_kernel = 1, KILN_PROFILE_raw_kernel = 2, KILN_PROFILE_recording = 3, KILN_PROFILE_copy = 4 };

// One item of a slice: an index or start:stop:step.
enum { KILN_SLICE_INDEX = 1, KILN_SLICE_HAS_START = 2, KILN_SLICE_HAS_STOP = 4 };
typedef struct kiln_slice {
  int64_t flags;  // KILN_SLICE_...: of an index both KILN_SLICE_INDEX and KILN_SLICE_HAS_START; of a whole axis 0
  int64_t start;
  int64_t stop;
  int64_t step;  // 1 unless elements are left out or turned round; not 0
} kiln_slice;

// Of arrays and views there are ranks 0 to this.
#define KILN_MAX_RANK 8
// An axis that stands for all of them, where a function says so.
#define KILN_ALL_AXES INT32_MIN

// Structures with a member struct_size may get members at their end in later versions: clear them and set struct_size
// to their size: `kiln_options options = {0}; options.struct_size = sizeof options;`. Less than the first version had
// is KILN_ERROR_ARGUMENT; members that the library does not know must be zero where it reads them, and become zero
// where it writes. Members that say "1: ..." are 0 or 1, and reserved ones 0.

// A value of a graph: an input, a scalar, or the result of an operation.
typedef uint32_t kiln_value;
#define KILN_NO_VALUE ((kiln_value)0xffffffffu)

// Elements in memory, without DLPack.
typedef struct kiln_tensor {
  void* data;              // of element (0, 0, ...); may be null where there are no elements
  const int64_t* shape;    // rank extents; may be null where rank is 0
  const int64_t* strides;  // rank strides in elements; null: C order without gaps
  int32_t rank;
  int32_t dtype;  // KILN_F32, ...
} kiln_tensor;

#endif  // KILN_C_TYPES_H
