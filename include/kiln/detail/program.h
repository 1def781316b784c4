// kiln/detail/program.h -- inline expressions as flat data: a constant postfix program and the operands it consumes.
//
// An expression's type fixes its program; the object holds only operands. Everything that works on them is in the
// library.
#pragma once

#include <kiln/detail/bridge.h>

namespace kiln::detail {

/// One step of a postfix program. Inputs, scalars, tags, fragments and places are consumed in program order.
struct Instruction {
  enum Kind : std::uint8_t { input, iota, parameter, literal, fragment, operation, cast, uniform, normal };
  Kind kind = input;
  DType type = DType::f32;    ///< of the value
  DType source = DType::f32;  ///< literal: type of the number as written
  std::uint8_t arity = 0;
  Op op = Op::add;
};

/// How many operands of each sort a program consumes, and its length.
struct Counts {
  unsigned inputs = 0, scalars = 0, tags = 0, fragments = 0, places = 0, code = 0;
  friend constexpr Counts operator+(const Counts& a, const Counts& b) {
    return {a.inputs + b.inputs,       a.scalars + b.scalars, a.tags + b.tags,
            a.fragments + b.fragments, a.places + b.places,   a.code + b.code};
  }
};

/// Heap copy of an expression, shared by every expression that uses it (kl::let). First member: atomic count (long).
struct Fragment;
KILN_API void destroy(Fragment* fragment) noexcept;
inline void retain(Fragment* f) { __atomic_fetch_add(reinterpret_cast<long*>(f), 1L, __ATOMIC_RELAXED); }
inline void release(Fragment* f) noexcept {
  if (f && __atomic_fetch_sub(reinterpret_cast<long*>(f), 1L, __ATOMIC_ACQ_REL) == 1L) destroy(f);
}

/// An expression, array or number as the library sees it. Pointers into the user's object; nothing is owned.
struct Parts {
  const Instruction* code = nullptr;
  const Handle* inputs = nullptr;
  const ScalarArgument* scalars = nullptr;
  const void* const* tags = nullptr;  ///< a baked number takes two: the bytes of its value
  Fragment* const* fragments = nullptr;
  const Where* places = nullptr;
  Counts counts;
};

/// An argument of a traced function: its node, or (numbers) the slot of the scalar.
struct TracedArgument {
  NodeId node = 0;
  unsigned slot = 0;
};
/// Runs the user's lambda on traced arguments; writes one node per output.
using FunctionTrace = void (*)(Recorder&, const void* environment, const TracedArgument* arguments, NodeId* outputs);

/// One evaluation. Without `trace` the parts are the outputs, else they are the arguments of the traced function.
struct Evaluation {
  const Parts* parts = nullptr;
  unsigned part_count = 0;
  unsigned target_count = 0;
  Target* targets = nullptr;
  FunctionTrace trace = nullptr;
  const void* environment = nullptr;
  const void* signature = nullptr;  ///< tells apart the argument types that share a site; part of the key
  const char* name = nullptr;
  const LaunchControl* launch = nullptr;
  CodeOptions options = {};
  Where where = {};
};

KILN_API void evaluate(Site& site, const Evaluation& evaluation);
KILN_API Inspection* inspect(Site& site, const Evaluation& evaluation, const char* arch);

/// The expression's shape; returns the rank.
KILN_API int shape_of(const Parts& parts, std::int64_t* shape, Where where);
/// Broadcasts every operand to the expression's shape, then applies the view to each. `inputs` and `fragments`, the
/// arrays that `parts` points to, are replaced in place; unchanged when it throws.
KILN_API void view_of(const Parts& parts, Handle* inputs, Fragment** fragments, ViewKind kind,
                      const std::int64_t* numbers, unsigned count, Where where);
/// The index operand of kl::index(e, axis).
KILN_API Handle index_operand(const Parts& parts, int axis, Where where);
/// The operand whose value is the C-order number of each element of `shape`.
KILN_API Handle counter_operand(const std::int64_t* shape, int rank);
/// A shared copy of the expression; operands are retained.
KILN_API Fragment* make_fragment(const Parts& parts);

/// ShapeError unless `count` values fill `shape` exactly.
KILN_API void check_count(std::int64_t count, const std::int64_t* shape, int rank, Where where);
/// Number of elements of arange(start, stop, step); ShapeError for a step of 0 or more elements than 2^63.
KILN_API std::int64_t arange_count(double start, double stop, double step, Where where);
KILN_API std::int64_t arange_count(std::int64_t start, std::int64_t stop, std::int64_t step, Where where);
[[noreturn]] KILN_API void stride_mismatch(int rank, int strides);
/// ShapeError unless the layout has one element.
KILN_API void check_single(const Layout* layout, Where where);

/// Records a number written in a traced function as a literal of `type`; TypeError when an integer does not fit.
KILN_API NodeId record_number(Recorder& recorder, const ScalarArgument& number, DType type, Where where);
/// Throws TypeError: integer powers need exponents >= 0 when the exponent is a number.
KILN_API void check_exponent(const ScalarArgument& exponent, Where where);

}  // namespace kiln::detail
