// codegen/pass/passes.h -- every pass: one declaration, one contract. Run by pipeline.cpp only.
#pragma once

#include <string_view>

#include "codegen/ir/graph.h"

namespace kiln::codegen {

/// What the passes may assume; both fields are part of the kernel's key.
struct PassOptions {
  bool contract = true;
  bool fast_math = false;
  bool cuda = true;  ///< composites that one backend has as a primitive stay whole there
};

/// Evaluates operations whose operands are all literals, by the rules of api.md section 8 (bits in, bits out).
Graph fold_constants(const Graph& graph, const PassOptions& options);

/// Value-preserving rewrites only: x*1, x/1, integer x+0, --x, cast to the same type, where of equal arms, ... No float
/// x*0, x-x, x+0.
Graph simplify(const Graph& graph, const PassOptions& options);

/// Drops nodes that no output needs. (Sharing needs no pass: nodes are hash-consed.)
Graph eliminate_dead(const Graph& graph, const PassOptions& options);

/// Splits complex values into pairs of real nodes; complex loads become real_part/imag_part of the load and complex outputs
/// `complex` of two values, so that emitters see no complex arithmetic.
Graph split_complex(const Graph& graph, const PassOptions& options);

/// Rewrites composites and operations with corner cases (integer division, shifts, pow, floor_divide, conversions,
/// activations, random) into primitives whose meaning is total and equal in CUDA C++ and LLVM IR.
Graph legalize(const Graph& graph, const PassOptions& options);

/// f16/bf16 values become f32 with a rounding cast exactly where api.md asks for one (stores and user casts).
Graph widen_storage_types(const Graph& graph, const PassOptions& options);

/// The pipeline for an elementwise kernel body, in order, with dump / time / verify around each pass.
Graph run_pipeline(const Graph& graph, const PassOptions& options);

}  // namespace kiln::codegen
