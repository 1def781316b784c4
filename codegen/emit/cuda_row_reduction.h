// codegen/emit/cuda_row_reduction.h -- reductions along contiguous rows: a group of lanes per row, one block per row,
// or several blocks per row.
#pragma once

#include "codegen/emit/cuda_reduction_parts.h"

namespace kiln::codegen::cuda {

class RowWriter : public ReductionWriter {
 public:
  RowWriter(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options);

 private:
  void statements() override;
  std::string schedule_text() const override;

  // cuda_row_reduction.cpp: rows, passes, joins.
  void declare_row(std::span<const std::size_t> accesses);
  void row_position(std::span<const std::size_t> accesses, bool writes);
  void decode_row(const std::string& row, std::span<const std::size_t> accesses, bool writes);
  void passes();
  void join_pass(std::size_t pass);
  void element_outputs();
  void row_outputs();
  /// Calls `tile(predicated)` for whole tiles, in a loop over the row, and for what is left of it.
  void each_tile(const std::function<void(bool)>& tile);
  void accumulate_tile(std::size_t pass, bool predicated);
  void tile_state(std::size_t pass, bool predicated);
  void store_tile(std::span<const NodeId> roots, std::span<const std::size_t> outputs, bool predicated);
  bool several_rows() const { return schedule_.rows > 1; }
  bool shares_block() const { return schedule_.lanes < schedule_.block; }
  /// "[r]" where a thread has several rows at a time.
  std::string row_piece() const { return several_rows() ? "[r]" : ""; }

  // cuda_row_access.cpp: positions along the row, loads and stores.
  int kept() const { return kernel_.rank - kernel_.reduced; }
  std::size_t last() const { return static_cast<std::size_t>(kernel_.rank - 1); }
  std::string length() const { return kernel_.reduced == 1 ? extent(last()) : "n"; }
  std::string tile_size() const;
  /// Opens the loop over the vectors of a tile and declares the position j of the current one where `accesses` move or
  /// it is compared with the end.
  void open_vectors(std::span<const std::size_t> accesses, bool compared);
  std::string vector_piece() const { return schedule_.items > 1 ? "[u]" : ""; }
  std::string place(std::size_t a) const;
  std::string element_stride(std::size_t a) const;
  /// Loads that the values below `roots` read, element by element.
  std::vector<std::size_t> loads_below(std::span<const NodeId> roots) const;
  void declare_loads(std::span<const std::size_t> loads);
  void load_vectors(std::span<const std::size_t> loads, bool predicated);
  void load_vector(std::size_t a, bool predicated);
  std::string local_vector(std::size_t a) const;
  void store_vector(std::size_t a, bool predicated);
  std::string element_place(std::size_t a) const;
  std::string row_place(std::size_t a) const;
  /// Read once for all rows from the caches, and only where results are written.
  bool is_late(std::size_t a) const;

  std::vector<char> read_in_passes_;  ///< per access
};

}  // namespace kiln::codegen::cuda
