// codegen/ir/loop.h -- a loop inside a kernel: the body of kl::repeat, called through `call` nodes, one per state.
//
// The operands of the call are the number of turns (i32, the same everywhere), the states before the first turn, and
// the values that the body reads and does not change.
#pragma once

#include "codegen/ir/graph.h"

namespace kiln::codegen {

struct Loop {
  /// A legalised body. Leaves: literals and `parameter`s, of which 0 to states - 1 are the states and the following
  /// ones what does not change. Outputs: the next states; where the loop `breaks`, then a b1: true ends the loop for
  /// this element, whose states stay what they are.
  Graph body;
  unsigned states = 1;
  bool breaks = false;
};

}  // namespace kiln::codegen
