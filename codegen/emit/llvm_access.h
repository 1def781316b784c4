// codegen/emit/llvm_access.h -- how a CPU kernel touches one operand: addresses, vector loads and stores, tails.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "codegen/emit/llvm_builder.h"
#include "codegen/ir/kernel.h"

namespace kiln::codegen {

/// One operand while its kernel is printed. Names are registers of the function being written.
struct AccessState {
  const Access* access = nullptr;
  std::string base;  ///< ptr, or the i64 offset of an iota
  struct Fold {
    std::string start, step = "1", length;  ///< i64
  };
  std::array<Fold, max_rank> folds;           ///< of the folded axes
  std::array<std::string, max_rank> strides;  ///< i64 per strided axis: bytes (iota: elements)
  std::string row;                            ///< base of the current row: ptr or i64
  std::size_t vector_axis = 0;  ///< the axis that vectors run along: the innermost unless columns are kept
  IrValue lane_offsets;         ///< vector axis strided: byte (iota: element) offset of each lane

  bool is_folded() const { return !access->axes.empty() && access->is_folded(vector_axis); }
  AxisClass inner() const { return access->axes.empty() ? AxisClass::contiguous : access->axes[vector_axis]; }
  /// Text of the i64 stride along `axis` in bytes (iota: elements); "0" for broadcast axes.
  std::string stride(std::size_t axis) const;
};

/// What is in memory: one vector, or two for the parts of complex elements. b1 is a byte.
Lane storage_lane(DType type);
inline int part_count(DType type) { return is_complex(type) ? 2 : 1; }
using Parts = std::vector<IrValue>;

/// Loads the vector that starts at inner index `i`; with a mask (of the tail; empty = none), only its lanes, zero
/// elsewhere.
Parts load_vector(IrBuilder& b, const AccessState& state, const std::string& i, const std::string& mask);
/// One element of the current row, in every lane (innermost axis broadcast).
Parts load_broadcast(IrBuilder& b, const AccessState& state);
/// Elements `at` behind the base in the lanes of the mask `exists`, missing ones elsewhere.
Parts load_gathered(IrBuilder& b, const AccessState& state, const IrValue& at, const IrValue& exists);
/// Position start + step * coordinate along folded `axis` (i64), before folding and folded.
std::string position_of(IrBuilder& b, const AccessState& state, std::size_t axis, const std::string& coordinate);
std::string folded_position(IrBuilder& b, const AccessState& state, std::size_t axis, const std::string& coordinate);
/// Lanes of the vector axis, folded: their distances from the base of the row in bytes (iota: elements).
IrValue folded_lanes(IrBuilder& b, const AccessState& state, const std::string& i);
/// i1: no lane of the vector at `i` needs folding, and the lanes are neighbours.
std::string needs_no_fold(IrBuilder& b, const AccessState& state, const std::string& i);
/// Lanes at any distances from the base of the row; `mask` as in load_vector.
Parts load_lanes(IrBuilder& b, const AccessState& state, const IrValue& distances, const std::string& mask);

/// The i64 values of an iota access whose lanes are `lane_offsets` from the first.
IrValue iota_vector(IrBuilder& b, const AccessState& state, const std::string& i, const IrValue& lane_offsets);
void store_vector(IrBuilder& b, const AccessState& state, const std::string& i, const Parts& parts,
                  const std::string& mask);
/// Vectors at any address, with a mask or null.
IrValue load_plain(IrBuilder& b, const std::string& pointer, Lane lane, const IrValue* mask);
void store_plain(IrBuilder& b, const std::string& pointer, const IrValue& value, const IrValue* mask);
/// The first lane, to the base of the current row.
void store_first_lane(IrBuilder& b, const AccessState& state, const Parts& parts);

}  // namespace kiln::codegen
