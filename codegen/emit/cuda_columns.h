// codegen/emit/cuda_columns.h -- prints column reductions: a vector of columns per thread, batches of rows.
#pragma once

#include "codegen/emit/cuda_reduction_parts.h"

namespace kiln::codegen::cuda {

class ColumnWriter : public ReductionWriter {
 public:
  ColumnWriter(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options);

 protected:
  void statements() override;
  std::string schedule_text() const override;

  // cuda_columns.cpp: the passes over the rows and what stands between them.
  /// The columns of this thread in tile `tile` of the kept axes.
  void position(const std::string& tile);
  /// Operands at the kept coordinates of this thread: locals called `<operand>_<suffix>`.
  void kept_pointers(const char* suffix);
  void rows_of_block();
  void declare_running(std::size_t pass);
  void read_rows(std::size_t pass);
  void accumulate(std::size_t pass);
  void join_threads(std::size_t pass, bool everywhere);
  void join_parts(std::size_t pass);
  void element_outputs();
  void row_outputs();
  /// Row u of the batch.
  virtual std::string row() const;
  /// "!tail || row + u * blockDim.y < last": row u of the batch exists.
  std::string exists() const;

  // cuda_columns_body.cpp: values per column and per element, loads and stores.
  void column_values(std::span<const NodeId> roots);
  void load_columns(std::size_t a);
  /// The loads of a batch, of those accesses that hold memory.
  void load_rows(std::vector<std::size_t> loads, const std::vector<RowGather>& gathers, const std::string& beyond);
  void load_batch(const std::vector<std::size_t>& loads, const std::string& beyond);
  void load_batch_gathers(const std::vector<RowGather>& gathers, const std::string& beyond);
  std::vector<RowGather> gathers_below(std::span<const NodeId> roots) const;
  void row_coordinates(const std::string& linear);
  std::string row_offset(std::size_t a) const;
  void decode(const std::string& linear, int first_axis, int end_axis);
  void read_vector(std::size_t a, const std::string& local, const std::string& from);
  void write_vector(std::size_t a, const std::string& local, const std::string& to);
  /// One output of the rows or columns at hand, rounded where it has to be, from arrays called `<output>_f32`.
  void round_results(std::size_t a, const std::string& index);
  bool is_element(std::size_t a) const { return is_per_element(kernel_, kernel_.accesses[a]); }
  AxisClass column_class(std::size_t a) const { return kernel_.accesses[a].axes[static_cast<std::size_t>(kept_ - 1)]; }
  int vector_width(std::size_t a) const;
  virtual std::string element_place(std::size_t a) const;
  std::string column_place(std::size_t a) const;
  /// Accesses that the values per element below `roots` read.
  std::vector<std::size_t> operands_below(std::span<const NodeId> roots) const;
  bool needs_coordinates(std::span<const NodeId> roots) const;

  int kept_;  ///< number of kept axes
  bool chain_;
};

}  // namespace kiln::codegen::cuda
