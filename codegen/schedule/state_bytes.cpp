// codegen/schedule/state_bytes.cpp -- the layout of a struct of states: fields at their natural alignment, whole words.
#include "codegen/schedule/state_bytes.h"

#include "codegen/ir/reduction.h"

namespace kiln::codegen {

std::uint64_t state_bytes(const Kernel& kernel, std::span<const NodeId> pass) {
  std::uint64_t bytes = 0;
  for (const NodeId id : pass) {
    for (const StateComponent& component : monoid_of(kernel.body, id).components) {
      const std::uint64_t size = size_of(component.type);
      bytes = (bytes + size - 1) / size * size + size;
    }
  }
  return (bytes + 7) / 8 * 8;
}

}  // namespace kiln::codegen
