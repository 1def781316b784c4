// codegen/emit/cuda_window.h -- prints the window form: operands read at neighbouring places, kept in registers.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/emit/cuda_writer.h"
#include "codegen/schedule/window.h"

namespace kiln::codegen::cuda {

class WindowWriter : public Writer {
 public:
  WindowWriter(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options);

 protected:
  void statements() override;
  std::string schedule_text() const override;

 private:
  /// How an access is read or written. `stepped`: element by element where it is used (indices, values that all columns
  /// share, and other strides).
  enum class Way : std::uint8_t { window, vectors, stepped };
  Way way_of(std::size_t a) const;

  // cuda_window.cpp: where a thread is, computing and writing.

  void position();
  void outer_position();
  void declare();
  std::string inside() const;
  // cuda_window_reads.cpp
  void whole_reads();
  void partial_reads();
  void results();
  void writes(bool whole);
  void pointer(std::size_t a);
  /// Neighbours [first, last) of a row, by the widest accesses that its alignment allows.
  std::vector<std::pair<int, int>> pieces(std::size_t a, int first, int last,
                                          const std::function<bool(int)>& needed) const;
  std::string wanted(const WindowPlane& plane, int row, int column) const;
  std::string coordinate(std::size_t axis) const;
  std::string moved(const std::string& text, int by) const;
  /// Elements from coordinate 0 (position 0 of folded axes), at the thread's coordinates moved by `at`; folded or not.
  std::string offset(std::size_t a, const std::vector<int>& at, bool folds) const;
  /// " + 2", or nothing.
  static std::string plus(int number);
  std::string valid() const;
  std::string element_offset(std::size_t a) const;
  void stepped_values();
  std::string row_step(std::size_t a, int rows) const;
  std::string axis_step(std::size_t a, std::size_t axis, int steps) const;
  std::string plane_name(std::size_t leader, std::size_t plane) const;
  std::string element_name(std::size_t a) const;

  int inner_, run_;
  std::vector<Window> windows_;
};

}  // namespace kiln::codegen::cuda
