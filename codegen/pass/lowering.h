// codegen/pass/lowering.h -- the parts of legalize and split_complex, by kind of operand. Internal to codegen/pass.
#pragma once

#include <span>

#include "codegen/pass/builder.h"

namespace kiln::codegen {

/// Lower one operation whose common operand type is bool, integer or floating. no_node: already a primitive.
NodeId lower_boolean(Builder& b, Op op, std::span<const NodeId> operands);
NodeId lower_integer(Builder& b, Op op, std::span<const NodeId> operands);
NodeId lower_float(Builder& b, Op op, std::span<const NodeId> operands);

/// An exact comparison of two integers of different types.
NodeId compare_mixed_integers(Builder& b, Op op, NodeId x, NodeId y);

/// A conversion between real types with the meaning of api.md section 8. no_node: already a primitive.
NodeId lower_cast(Builder& b, NodeId value, DType to);

/// Element `counter` of the random stream `key` as f32 or f64.
NodeId lower_random(Builder& b, NodeId counter, NodeId key, bool normal, DType type);

/// The four words of Philox4x32-10 for the 128-bit counter (c0, c1, 0, 0) and the 64-bit key (k0, k1), all u32.
std::array<NodeId, 4> philox4x32_10(Builder& b, std::array<NodeId, 4> counter, NodeId k0, NodeId k1);

/// A complex value as its parts, both f32 or both f64.
struct ComplexParts {
  NodeId real = no_node;
  NodeId imag = no_node;
};

/// One complex operation with a complex result (add ... atanh, sign, conj).
ComplexParts lower_complex(Builder& b, Op op, std::span<const ComplexParts> operands);
ComplexParts complex_divide(Builder& b, ComplexParts x, ComplexParts y);
ComplexParts complex_multiply(Builder& b, ComplexParts x, ComplexParts y);
ComplexParts complex_sqrt(Builder& b, ComplexParts z);
ComplexParts complex_exp(Builder& b, ComplexParts z);
ComplexParts complex_log(Builder& b, ComplexParts z);
/// sin ... atanh and their inverses.
ComplexParts complex_trigonometric(Builder& b, Op op, ComplexParts z);
/// log |z| without overflow or cancellation near |z| = 1.
NodeId log_magnitude(Builder& b, ComplexParts z);

}  // namespace kiln::codegen
