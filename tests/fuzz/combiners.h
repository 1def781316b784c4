// tests/fuzz/combiners.h -- functions that users could give kl::reduce and kl::scan, as lists of operations.
#pragma once

#include <vector>

#include "tests/fuzz/program.h"

namespace fuzz {

/// Values 0 to count - 1 are the left ones, the next `count` the right ones; each step adds one.
struct JoiningStep {
  Op op;
  std::vector<int> inputs;
  int of;              ///< the component whose type the operands have
  bool truth = false;  ///< the result is a truth value
};
struct Combiner {
  int count = 1;
  std::vector<JoiningStep> steps;
  std::vector<int> outputs;
  bool commutes = true;
  const char* text;  ///< as C++
};
const Combiner& combiner_of(Joining joining);
/// Bits of the identity of one component of this type.
std::uint64_t identity_bits(Joining joining, int component, DType type);
const char* identity_text(Joining joining, int component);

}  // namespace fuzz
