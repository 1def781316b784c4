// codegen/emit/llvm_loops.h -- loops as LLVM IR text: counters, and coordinates that advance by carry.
#pragma once

#include <string>
#include <vector>

#include "codegen/emit/llvm_builder.h"

namespace kiln::codegen {

/// for (counter = from; counter < to; counter += step). After end_loop the counter's register holds the first value
/// that was not less than `to`.
struct CountedLoop {
  std::string counter, name;
  std::int64_t step = 1;
};
CountedLoop begin_loop(IrBuilder& b, const std::string& from, const std::string& to, std::int64_t step = 1);
void end_loop(IrBuilder& b, const CountedLoop& loop);

/// for (counter = from; counter < to; ++counter), beside the coordinates of the counter in a space of these extents
/// (i64 registers, outermost first). Divisions happen once, at the start.
struct CarryLoop {
  CountedLoop loop;
  std::vector<std::string> extents, coordinates;
};
CarryLoop begin_carry_loop(IrBuilder& b, const std::vector<std::string>& extents, const std::string& from,
                           const std::string& to);
void end_carry_loop(IrBuilder& b, const CarryLoop& loop);

// Scalar i64 arithmetic; text that is a number stays one.
std::string scalar_add(IrBuilder& b, const std::string& a, const std::string& c);
std::string scalar_multiply(IrBuilder& b, const std::string& a, const std::string& c);
std::string scalar_least(IrBuilder& b, const std::string& a, const std::string& c);
std::string scalar_greatest(IrBuilder& b, const std::string& a, const std::string& c);
std::string ceil_divide(IrBuilder& b, const std::string& a, const std::string& c);  ///< c > 0, a >= 0
std::string product_of(IrBuilder& b, const std::vector<std::string>& factors);

/// Opens a block that runs only if the i1 `condition` holds; end_if continues after it.
std::string begin_if(IrBuilder& b, const std::string& condition);
void end_if(IrBuilder& b, const std::string& name);

}  // namespace kiln::codegen
