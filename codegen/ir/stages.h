// codegen/ir/stages.h -- what a kernel with reduced axes computes per row and per element, and in how many passes.
#pragma once

#include <vector>

#include "codegen/ir/kernel.h"

namespace kiln::codegen {

struct Stages {
  std::vector<char> per_element;  ///< per node: its value changes along the reduced axes
  /// Per node: reductions on the longest chain below it, itself included. A node of depth d can be computed when the
  /// passes 0 .. d-1 are done.
  std::vector<int> depth;
  std::vector<std::vector<NodeId>> passes;  ///< pass p: the reductions of depth p + 1, in graph order
  std::vector<NodeId> scans;                ///< in graph order
  bool has_element_outputs = false;         ///< some output is stored per element
};

/// Per node: its value changes along loop axis `axis`. Of reductions only along kept axes.
std::vector<char> changes_along(const Kernel& kernel, std::size_t axis);

/// The gathers of which vectors along `axis` read neighbours in memory: one index serves a whole vector.
std::vector<NodeId> row_gathers(const Kernel& kernel, std::size_t axis);

/// One linear scan of the body.
Stages stages_of(const Kernel& kernel);

/// True for an access that moves along a reduced axis.
bool is_per_element(const Kernel& kernel, const Access& access);
/// True where there are kept axes and the access moves along none of them: every row reads it from the caches.
bool is_shared_by_rows(const Kernel& kernel, const Access& access);

}  // namespace kiln::codegen
