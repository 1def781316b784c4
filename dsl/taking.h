// dsl/taking.h -- where the elements of a take come from: an operand's memory as it lies, or a temporary.
#pragma once

#include <vector>

#include "dsl/source.h"

namespace kiln::dsl {

/// The source of a take. Views of an operand are read where they lie. Any other value, and a reshape that no view of
/// the operand shows, is computed first: node `stored`, from which `view` shows the source.
struct TakeSource {
  int slot = -1;
  codegen::NodeId stored = codegen::no_node;
  Strided view;  ///< over the axes of the source
};
TakeSource source_of_take(const Source& source, codegen::NodeId take);

/// Per node, for takes of computed values: the node that must be stored; no_node elsewhere.
std::vector<codegen::NodeId> stored_sources(const Source& source);

}  // namespace kiln::dsl
