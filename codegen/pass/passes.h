// codegen/pass/passes.h -- every pass: one declaration, one contract. Run by pipeline.cpp only.
//
// LEGALISED BODY: the grammar of what run_pipeline returns, checked by verify_legal(). Emitters print exactly this.
//
// Types. Values have the types b1, i8..i64, u8..u64, f32, f64; b1 is a truth value (i1, bool). f16, bf16, c64 and c128
// appear only where named below. Every operand has the node's own type unless a line says otherwise.
//
//   load a       any type. b1: the byte compared != 0. Integers, f32, f64: the value. f16, bf16: only under `cast` to
//   f32 or
//                as an output. c64, c128: only under real_part/imag_part or as an output.
//   gather a     as load; operands: see graph.h.
//   iota a       i64.
//   parameter p  b1 (a u8 in the argument block, compared != 0), integers, f32 (also for f16/bf16 scalars), f64; c64,
//   c128
//                (real part first in the argument block) only under real_part/imag_part or as an output.
//   literal      b1, integers, f32, f64; bits in `payload`.
//   real_part, imag_part   f32 of a c64, f64 of a c128 load or parameter.
//   complex      an output or operand of a call only: c64 of two f32, c128 of two f64.
//   bitcast      f32 <-> u32/i32, f64 <-> u64/i64.
//   mulhi        u32: upper 32 bits of the 64-bit product.
//   cast         b1 -> integer or f32/f64 (0 or 1); integer -> integer (extends by the source's signedness, or keeps
//   the low
//                bits); integer -> f32/f64 (nearest even); f32 -> f64; f64 -> f32 (nearest even);
//                f32/f64 -> integer (toward zero; the operand is never NaN and its truncated value always fits);
//                f32 -> f16/bf16 (nearest even, overflow to inf; NaN stays NaN): an output or the operand of a cast to
//                f32; f16/bf16 -> f32. Never to b1.
//   operation    by the type of the operands:
//     f32, f64   add sub mul div neg fma abs copysign fmod pow hypot, eq ne lt le gt ge (-> b1; false for NaN, ne
//     true),
//                where, minimum maximum (NaN propagates, -0 < +0), fmin fmax (NaN ignored, -0 < +0),
//                sqrt rsqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh
//                asinh acosh atanh erf erfc lgamma tgamma floor ceil round trunc. The
//                operand of erfc is an abs.
//     integers   add sub mul neg (wrap mod 2^n in their own type), div mod (C's; the divisor is never 0 and never -1
//     beside
//                MIN), bit_and bit_or bit_xor bit_not, shl shr (amount in [0, width), same type as the value; shr fills
//                with the sign if signed), eq ne lt le gt ge (-> b1; both operands of one type), where, minimum
//                maximum.
//     b1         bit_and bit_or bit_xor bit_not, where.
//   call         a function of the user's of operands of exactly its parameters' types, which may be c64 and c128
//                (a load,
//                parameter, call or `complex`). Of its result type, f32 for f16/bf16; a complex one is used like a
//                load's.
//   where        operand 0 is b1; operands 1 and 2 have the node's type. Both arms are total, so evaluating both is
//   fine. outputs      a node of the store access's type: b1 (store 0 or 1), integers, f32, f64, a cast or load of
//   f16/bf16, a
//                `complex`, load or parameter of c64/c128.
//
// Library forms. In f32, legalize may give an operation inside a function of the library (sigmoid, silu, gelu,
// gelu_tanh) payload `library_form`, whatever type is stored, so that a function's value never depends on its
// surroundings. They are other nodes than the user's, are not folded and print as `div.library`:
//     div a, b   the divisor is in [1, 2] or NaN; within 2 ulp of a / b.
//     erf x      1 + erf(x) = erfc(-x) within 2.4e-7.
//     tanh x     (1 + tanh(x)) / 2 = 1 / (1 + exp(-2x)) within 2.4e-7.
//
// Reductions (kernels with reduced axes only; codegen/ir/reduction.h reads them).
//     reduce     sum prod of i32 i64 u32 u64 f32 f64; max min of integers, f32, f64; any all of b1: one operand, no
//                combiner. Any other reduction carries a combiner: operand 0 is the state of one element, operand 1 the
//                identity, each one value or a `tuple` of two or three; components are b1, integers, f32 or f64. The
//                combiner is a legalised body itself, with `input` and literal leaves; values of the identity do not
//                depend on reduced coordinates. The result is one value; that of tuples is used by `element` only.
//     scan       the same, along the one reduced axis (a complex cumprod scans tuples); no reduce in that kernel.
//     tuple      two or three values; an operand of reduce and scan only.
//     element c  component c of a reduce or scan of tuples, in the component's type.
//     Values do not depend on the order in which states are joined beyond rounding. Operands of a reduction are
//     evaluated once per element even where they do not depend on reduced coordinates. A body of a kernel with reduced
//     axes may hold no reduction: they had nothing to join.
//
// Exactness. Library forms apart, add sub mul div sqrt fma, comparisons and conversions round exactly as IEEE 754 in
// both languages (also under `contract`, which may fuse a mul with the add or sub that it feeds; values that must not
// be fused are built so that a mul feeds no add or sub). fast_math may approximate div, sqrt and the functions.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "codegen/ir/graph.h"

namespace kiln::codegen {

/// Bounds of the values of an iota access, both included, at the points of the loop. (Emitters may evaluate a body at
/// points past the end and drop the results; where integer division traps they must keep iotas in these bounds there.)
struct IotaRange {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
};

/// What the passes may assume. Whatever follows from it shows in the body, and so in the kernel's key. Bodies are the
/// same for every device and every choice of contraction and fast math: those are the emitters'.
struct PassOptions {
  std::vector<IotaRange> iotas;  ///< by access; those beyond the end may have any value
  bool holds_rows = false;       ///< rows stay in registers between the passes over them (schedule.h)
  /// Rows are read again in every pass over them: one that finds the maximum and a sum of exponentials at once is worth
  /// an exponential more per few elements.
  bool joins_exponentials = false;
  bool empty_rows = false;  ///< some reduced axis has extent 0: every reduction becomes its value over nothing
};

/// Evaluates operations whose operands are all literals, by the rules of api.md section 8 (bits in, bits out). A
/// reduction of a literal stays: the number of elements is not known here.
Graph fold_constants(const Graph& graph, const PassOptions& options);

/// Value-preserving rewrites only: x*1, x/1, integer x+0, --x, cast to the same type, where of equal arms, ... No float
/// x*0, x-x, x+0.
Graph simplify(const Graph& graph, const PassOptions& options);

/// Drops nodes that no output needs. (Sharing needs no pass: nodes are hash-consed.)
Graph eliminate_dead(const Graph& graph, const PassOptions& options);

/// Splits complex values into pairs of real nodes; complex loads become real_part/imag_part of the load and complex
/// outputs `complex` of two values, so that emitters see no complex arithmetic. Reductions join real components: throws
/// TypeError where a combiner of the user's would have more than three.
Graph split_complex(const Graph& graph, const PassOptions& options);

/// Computes f16/bf16 expressions in f32. Only casts to f16/bf16 round: the user's, and one added where a value of such
/// a type is an output. (Casts that type promotion inserts into f16/bf16 come from 8-bit integers and are exact.)
/// Components of states are f32 throughout, and unrounded casts disappear.
Graph widen_storage_types(const Graph& graph, const PassOptions& options);

/// Leaves plain reductions and combiners only. argmax and argmin join (value, position); logsumexp and
/// squared_deviations become two reductions if `holds_rows`, else join states in one pass. sum and prod of i8, i16, u8,
/// u16 compute in 32 bits; those of b1, and max and min, are any and all.
Graph lower_reductions(const Graph& graph, const PassOptions& options);

/// Where the options ask for it: max(x) and sum(exp(x - max(x))) over the same axes become one log-sum-exp state
/// (largest x, sum), and the sum that of the state + (max - max), which is NaN where the maximum is infinite, as the
/// sum of the formula is. In f32 and f64, by structure.
Graph join_exponential_sums(const Graph& graph, const PassOptions& options);

/// Rewrites composites and operations with corner cases (integer division, shifts, pow, floor_divide, conversions,
/// activations, random) into primitives whose meaning is total and equal in CUDA C++ and LLVM IR.
Graph legalize(const Graph& graph, const PassOptions& options);

/// Computes i64/u64 values in 32 bits where ranges prove that they fit, divides without signs where nothing is
/// negative, and decides comparisons that have one answer (the guards of legalize among them). Every value stays what
/// it was: nothing wraps that did not wrap before. Takes and returns a legalised body.
Graph narrow_integers(const Graph& graph, const PassOptions& options);

/// Throws InternalError naming the first node outside the grammar at the top of this file.
void verify_legal(const Graph& graph);

/// The pipeline for a kernel body and the combiners in it, in order, with dump / time / verify around each pass. The
/// result obeys the grammar above, holds no dead node and is canonical (node ids are the canonical order).
Graph run_pipeline(const Graph& graph, const PassOptions& options);

}  // namespace kiln::codegen
