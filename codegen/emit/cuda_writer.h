// codegen/emit/cuda_writer.h -- prints one kernel: argument struct, index decoding, loads, the body once, stores.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "codegen/emit/cuda_calls.h"
#include "codegen/emit/cuda_prelude.h"
#include "codegen/emit/emit.h"
#include "codegen/schedule/transpose.h"

namespace kiln::codegen::cuda {

class Writer {
 public:
  Writer(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options);
  virtual ~Writer() = default;
  KernelSource write();

 protected:
  /// The statements of the kernel; types and functions of this kernel alone go to `definitions_`.
  virtual void statements();
  /// What the header says of the schedule.
  virtual std::string schedule_text() const;

  // cuda_writer.cpp: names, the argument struct and the body.
  std::string header() const;
  std::string arguments_struct();
  std::string functions(const std::string& start, const std::string& entry) const;
  std::string entry_name() const;
  /// "a.x0": field names do not depend on extents, so neither does the text.
  std::string field(ArgumentKind kind, std::size_t a, std::size_t axis = 0) const;
  std::string access_name(std::size_t a) const;
  std::string stride(std::size_t a, std::size_t axis) const { return field(ArgumentKind::stride, a, axis); }
  std::string extent(std::size_t axis) const { return field(ArgumentKind::extent, 0, axis); }
  const char* storage(std::size_t a) const;
  /// True for complex elements of which only the parts are aligned: the vector types may not touch them.
  bool is_underaligned(std::size_t a) const;
  bool is_store(std::size_t a) const { return kernel_.accesses[a].store; }
  bool is_iota(std::size_t a) const { return kernel_.accesses[a].iota; }
  /// Memory that is read by index where the body says so, and not by its place in the loop.
  bool is_gathered(std::size_t a) const { return kernel_.accesses[a].gathered; }
  AxisClass inner_class(std::size_t a) const;
  /// Elements of access `a` that one memory access may cover, at most `limit`.
  int access_width(std::size_t a, int limit) const;
  /// True where output `a` is a cast from f32 to f16 or bf16: values are kept in f32 and rounded together.
  bool rounds(std::size_t a) const;
  /// Prints the statements of the body; `element(a)` is the place of the current element of access `a`, and iotas are
  /// given as i64 expressions.
  void body(const std::function<std::string(std::size_t)>& element);
  std::string value_text(const Graph& graph, NodeId id, const std::vector<std::string>& names);
  /// Gives node `id` a name: that of its place, or of a local that is declared here and called `local`. False where no
  /// local was declared.
  bool name_node(const Graph& graph, NodeId id, std::vector<std::string>& names, const std::string& local,
                 const std::function<std::string(std::size_t)>& element);
  bool declare_node(const Graph& graph, NodeId id, std::vector<std::string>& names, const std::string& local);

  // cuda_loops.cpp: functions that repeat a body.
  /// "repeat_1a2b(n, x, y)", which gives all states; the function is defined at the first call.
  std::string loop_call(const Function& function, const std::vector<std::string>& operands);
  void define_loop(const Function& function);
  void loop_body(const Function& function);
  /// The variable that holds what the call gives: the states of one loop share it within a block of statements.
  std::string loop_states(const std::string& call, const std::string& local);

  // cuda_gathers.cpp: elements found by index.
  /// A gather whose index is one for a whole vector: `access` is read at `name`_row, found by iota `affine`.
  struct RowGather {
    NodeId node;
    std::size_t access, affine;
    std::string name;
  };
  void find_row_gathers(std::size_t axis);
  void declare_row_gathers();
  void load_row_gathers(const std::string& count, bool vectors);
  void name_row_gathers(const std::string& exists, const std::string& at);
  int gather_width(const RowGather& gather) const;
  // cuda_scatters.cpp: values that join elements of memory.
  std::string joined_text(DType type, Scatter scatter, const std::string& a, const std::string& b);
  void define_join(std::size_t a);
  void scatter_elements(std::size_t a, const std::string& count, const std::string& base);
  void binned();
  bool is_below(NodeId root, NodeId id) const;
  /// A scattered number that is the same everywhere: blocks count instead.
  bool is_counted(std::size_t a) const { return counts_ && scatters(a); }
  bool scatters(std::size_t a) const { return kernel_.accesses[a].scatter != Scatter::none; }

  std::string gather_text(const Graph& graph, NodeId id, const std::vector<std::string>& names) const;
  std::string missing_text(std::size_t a) const;
  void line_directive(const Graph& graph, NodeId id);

  // cuda_rows.cpp: flat and row-wise forms.
  void flat();
  void rows();
  void declare_loads();
  void loads();
  void compute();
  void stores();
  void move_pieces(bool store);
  void move_elements(bool store, const std::string& count, bool vectors);
  std::string piece() const;
  std::string place(std::size_t a) const;

  // cuda_decode.cpp: coordinates of the outer axes and the pointers that follow from them.
  void decode_outer(const std::string& linear, const std::vector<int>& axes);
  std::string outer_offset(std::size_t a, const std::vector<int>& axes) const;
  void row_pointers(const std::vector<int>& axes);
  void row_pointer(std::size_t a, const std::vector<int>& axes);

  // cuda_folds.cpp: displaced operands.
  /// A signed position plus the start of folded `axis`, folded.
  std::string folded(std::size_t a, std::size_t axis, const std::string& position) const;
  /// The position of `coordinate` along folded `axis`, folded; a number of the signed index type.
  std::string folded_position(std::size_t a, std::size_t axis, const std::string& coordinate) const;
  /// The same times the stride, as "p" or "p * a.x0_s1".
  std::string folded_offset(std::size_t a, std::size_t axis, const std::string& coordinate) const;
  void use_folds();
  /// Reads the current vector of an operand that is folded along the innermost axis, or its first `count` elements.
  void folded_elements(std::size_t a, const std::string& local, const std::string& count);
  bool is_folded_inside(std::size_t a) const {
    return kernel_.rank > 0 && kernel_.accesses[a].is_folded(static_cast<std::size_t>(kernel_.rank - 1));
  }

  // cuda_dense.cpp: vectors across a short innermost axis.
  void dense();
  void decode_coordinates();
  void step_coordinates();
  /// Locals of the operands that are read by coordinates, at the current element.
  void stepped_operands();
  bool is_dense_form() const { return schedule_.form == Template::dense; }
  /// Fewer blocks than tiles: each takes several.
  bool takes_turns() const { return schedule_.form == Template::flat && schedule_.grid > 0 && kernel_.rank > 0; }
  /// True for an index or an operand that does not move with the vectors of the dense form.
  bool is_stepped(std::size_t a) const;
  /// The outermost axis along which a stepped operand moves; the rank if there is none.
  int first_stepped_axis() const;

  // cuda_transpose.cpp: 64 x 64 tiles through shared memory.
  void transpose();
  void tile_position();
  void tile_declarations();
  void tile_turned_reads(bool inside);
  void tile_reads(bool inside);
  void tile_exchange();
  void tile_results();
  void tile_move(std::size_t a, bool store, bool inside);
  bool is_turned(std::size_t a) const;
  int turned_width(std::size_t a) const;
  /// Rows of a tile that one pass of all threads covers with vectors of `width`, and the passes that a tile takes.
  int pass_rows(int width) const { return schedule_.block * width / schedule_.tile; }
  int passes(int width) const { return schedule_.tile / pass_rows(width); }

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(static_cast<std::size_t>(indent_) * 2, ' ');
    text_ += fmt::format(format, static_cast<Args&&>(args)...);
    if (text_.back() == '{') loop_states_.clear();  // names may mean other values in the block that starts
    text_ += '\n';
  }
  void open(const std::string& head) {
    line("{} {{", head);
    ++indent_;
  }
  void close() {
    --indent_;
    loop_states_.clear();
    line("}}");
  }
  /// `for (int name = 0; name < count; ++name) {`, unrolled.
  void unrolled(const char* name, int count) {
    text_ += "#pragma unroll\n";
    open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", name, count));
  }

  const Kernel& kernel_;
  const Schedule& schedule_;
  const EmitOptions& options_;
  ArgumentLayout layout_;
  Prelude prelude_;
  Calls calls_;
  std::string text_;
  std::string definitions_;
  int indent_ = 0;
  std::string index_;                  ///< unsigned type of positions
  std::string step_;                   ///< signed type of strides and offsets
  std::vector<std::string> pointers_;  ///< pointer (or i64 start of an iota) of each access, outer axes included
  bool counts_ = false;                ///< blocks count hits, and scatter their numbers at the end
  std::vector<RowGather> row_gathers_;
  std::map<NodeId, std::string> row_gather_names_;  ///< their elements, where they have been loaded
  std::map<std::string, std::string> loop_states_;  ///< variables of this block of statements, by the call they hold
  std::set<std::string> loops_;                     ///< names of the functions that are defined
  std::vector<char> shared_products_;               ///< per node of the body: rounded by itself
  std::vector<int> turned_;                         ///< accesses that go through shared memory
  int turned_axis_ = -1;                            ///< the axis along which they are contiguous
};

}  // namespace kiln::codegen::cuda
