// dsl/source.h -- a call as the steps of its lowering see it.
#pragma once

#include <span>

#include "dsl/lower.h"

namespace kiln::dsl {

/// A call: what every kernel of it is lowered from.
struct Source {
  const codegen::Graph& graph;
  std::span<const Shape> shapes;
  std::span<const Operand> operands;
};

}  // namespace kiln::dsl
