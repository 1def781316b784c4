// tests/unit/dsl/segment_reference.h -- what operations and reductions of a trace or kernel body give, in float64.
#pragma once

#include <vector>

#include "tests/unit/dsl/segment_support.h"

namespace kiln::dsl::test {

/// Of an operation or cast.
double apply(const codegen::Node& node, const double* operands);
double literal(const codegen::Node& node);

/// Components of the state of one element, or of the result.
using State = std::vector<double>;
/// `elements`: states in order. For argmax each is {value, position}.
State join(const codegen::ReductionSpec& spec, const std::vector<State>& elements, const State& identity);

/// Components of a node's value, each over all points.
using Columns = std::vector<Numbers>;
State state_at(const Columns& columns, std::size_t point);
/// Operand 0, and for argmax operand 1 too, as states; operand 1 of a combination is the identity.
Columns state_columns(const codegen::Node& node, const codegen::ReductionSpec& spec,
                      const std::vector<Columns>& operands);
State identity_of(const codegen::ReductionSpec& spec, const std::vector<Columns>& operands);

}  // namespace kiln::dsl::test
