// codegen/pass/evaluate.h -- operations on literal bits, for those whose result is exactly defined on every device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "codegen/ir/graph.h"

namespace kiln::codegen {

/// The bits of `node` applied to literal operands, or nothing when the result is not exactly defined (exp, sin, a
/// library form, ...) or the type computes elsewhere (f16, bf16, complex).
std::optional<std::uint64_t> evaluate(const Node& node, std::span<const Node> operands);

/// f64 to f16 or bf16, rounded once.
std::uint16_t round_to_storage(double value, DType type);

}  // namespace kiln::codegen
