// codegen/emit/cuda_scan.h -- prints running reductions: by columns along a strided axis, or along contiguous rows.
#pragma once

#include "codegen/emit/cuda_columns.h"

namespace kiln::codegen::cuda {

class ScanWriter final : public ColumnWriter {
 public:
  ScanWriter(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options);

 private:
  void statements() override;
  std::string schedule_text() const override;
  std::string row() const override { return "row + u"; }

  // cuda_scan.cpp: pieces of rows, what precedes them, results.
  void print_from_lane(std::size_t group);
  void take_ticket();
  void declare_carries();
  void piece();
  void scan_group(std::size_t group);
  void carry(std::size_t group, const std::string& totals);
  void outputs();
  void element(std::span<const NodeId> roots);
  /// Declares the results of the scans below `roots` for the element at hand.
  void results(std::span<const NodeId> roots);

  // cuda_scan_rows.cpp: rows along the contiguous axis.
  void row_position();
  void load_vectors();
  void store_vectors();
  std::string vector_position() const;
  std::string vector_place(std::size_t a) const;
  std::string element_place(std::size_t a) const override;
  std::string scan_row_place(std::size_t a) const;

  bool by_columns() const { return schedule_.lanes == 0; }
  bool by_block() const { return schedule_.lanes > 32; }
  bool has_carry() const { return by_columns() || by_block(); }
  int lanes() const { return std::min(schedule_.lanes, 32); }
  /// Independent running values of one thread, and the elements of each piece of them.
  int runs() const { return by_columns() ? schedule_.vector : 1; }
  std::string length() const { return extent(static_cast<std::size_t>(kernel_.rank - 1)); }
};

}  // namespace kiln::codegen::cuda
