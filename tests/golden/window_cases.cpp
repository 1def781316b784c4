// tests/golden/window_cases.cpp -- stencils: which places, folds, types and alignments the emulation runs.
#include "tests/golden/window_cases.h"

#include "codegen/schedule/window.h"

namespace kiln::golden {
namespace {

using codegen::Fold;
using codegen::IndexWidth;
using codegen::Kernel;
using codegen::NodeId;
using codegen::Schedule;
using Place = std::vector<int>;

/// Rows aligned to `row_alignment` bytes, the first element `phase` behind.
struct Rows {
  int row_alignment = 16, phase = 0;
};

struct Stencil {
  std::string axes = "sc";
  std::vector<Fold> folds = {};  ///< empty: none
  std::vector<Place> places = {};
  DType type = DType::f32;
  Rows rows = {}, stored = {};
  std::vector<std::string> others = {};  ///< axes of operands beside the window
  bool has_index = false;
  IndexWidth width = IndexWidth::bits32;
  bool shares = true;  ///< false: each place is read by itself, in another form
};

void align(codegen::Access& access, Rows rows) {
  access.row_alignment = static_cast<std::uint8_t>(rows.row_alignment);
  access.phase = static_cast<std::uint8_t>(rows.phase);
}

Kernel kernel_of(const Stencil& s) {
  const int rank = static_cast<int>(s.axes.size());
  Builder b(rank, s.width, "weighted sum of neighbours");
  const DType computed = compute_type(s.type);
  NodeId sum = codegen::no_node;
  double weight = 1;
  const auto add = [&](NodeId value) {
    const NodeId term = b.op(Op::mul, {b.cast(value, computed), b.number(computed, weight++)});
    sum = sum == codegen::no_node ? term : b.op(Op::add, {sum, term});
  };
  for (const Place& place : s.places) {
    add(b.load(s.type, s.axes));
    codegen::Access& access = b.kernel.accesses.back();
    access.window = s.shares ? 0 : -1;
    for (int axis = 0; axis < rank; ++axis) {
      const auto at = static_cast<std::size_t>(axis);
      access.displacement.push_back(static_cast<std::int8_t>(place[at] - s.places[0][at]));
      if (!s.folds.empty()) access.folds.push_back({s.folds[at], true});
    }
    if (s.shares) align(access, s.rows);
  }
  for (const std::string& axes : s.others) {
    add(b.load(s.type, axes));
    align(b.kernel.accesses.back(), s.rows);
  }
  if (s.has_index) {
    std::string axes(s.axes.size(), 'b');
    axes.back() = 'c';
    add(b.iota(axes));
  }
  b.store(b.cast(sum, s.type), s.axes);
  Kernel kernel = b.finish();
  if (s.shares) align(kernel.accesses.back(), s.stored);
  return kernel;
}

/// As choose_window(), with the tile given.
Schedule tile(const Kernel& kernel, int columns, int rows_of_block, int vector, int items, bool whole = false) {
  Schedule schedule;
  schedule.form = codegen::Template::window;
  schedule.columns = columns;
  schedule.block = columns * rows_of_block;
  schedule.vector = vector;
  schedule.items = items;
  const codegen::Access& store = kernel.accesses.back();
  schedule.lead = store.phase % std::min<int>(vector, store.row_alignment / static_cast<int>(size_of(store.type)));
  schedule.whole_vectors = whole && schedule.lead == 0;
  return schedule;
}

const std::vector<Place> cross = {{0, 1}, {0, -1}, {1, 0}, {-1, 0}, {0, 0}};
const std::vector<Place> box = {{-1, -1}, {-1, 0}, {-1, 1}, {0, -1}, {0, 0}, {0, 1}, {1, -1}, {1, 0}, {1, 1}};
const std::vector<Place> star = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}, {0, 0, 0}};
const std::vector<Place> line3 = {{1}, {-1}, {0}}, line5 = {{0}, {-2}, {2}, {1}, {-1}};

/// Each place read by itself, in the forms for other kernels.
void add_alone(std::vector<ReductionCase>& result) {
  const std::vector<Fold> clamped(2, Fold::clamp), reflected(2, Fold::reflect);
  const auto alone = [&](const char* name, Stencil stencil, codegen::Template form, int vector, int items,
                         bool is_dense = false) {
    stencil.shares = false;
    Kernel kernel = kernel_of(stencil);
    Schedule schedule;
    schedule.form = form;
    schedule.block = 64;
    schedule.vector = vector;
    schedule.items = items;
    if (is_dense) kernel.accesses.back().dense_alignment = 1;
    kernel.accesses.back().alignment = static_cast<std::uint8_t>(size_of(stencil.type));
    result.push_back({name, std::move(kernel), schedule});
  };
  using codegen::Template;
  alone("alone_rows", {.folds = clamped, .places = cross}, Template::rows, 1, 4);
  alone("alone_rows_wide", {.folds = reflected, .places = cross, .width = IndexWidth::bits64}, Template::rows, 4, 1);
  alone("alone_line", {.axes = "c", .folds = {Fold::symmetric}, .places = line3}, Template::flat, 4, 2);
  alone("alone_line_wrap_f64", {.axes = "c", .folds = {Fold::wrap}, .places = line5, .type = DType::f64},
        Template::flat, 2, 1);
  alone("alone_volume", {.axes = "ssc", .folds = {Fold::clamp, Fold::wrap, Fold::reflect}, .places = star},
        Template::general, 1, 1);
  alone("alone_dense_u8",
        {.axes = "ssc",
         .folds = {Fold::wrap, Fold::symmetric, Fold::none},
         .places = {{1, 0, 0}, {0, -1, 0}, {0, 1, 0}},
         .type = DType::u8},
        Template::dense, 16, 1, true);
}

}  // namespace

std::vector<ReductionCase> window_cases() {
  std::vector<ReductionCase> result;
  const auto add = [&](const char* name, const Stencil& stencil, auto... numbers) {
    Kernel kernel = kernel_of(stencil);
    const Schedule schedule = tile(kernel, numbers...);
    result.push_back({name, std::move(kernel), schedule});
  };
  const std::vector<Fold> clamped(2, Fold::clamp), wrapped(2, Fold::wrap), reflected(2, Fold::reflect);
  add("cross_clamp", {.folds = clamped, .places = cross}, 8, 4, 4, 4);
  add("cross_clamp_whole", {.folds = clamped, .places = cross}, 8, 4, 4, 2, true);
  add("cross_slices", {.places = cross}, 8, 2, 4, 4);
  add("cross_slices_lead", {.places = cross, .rows = {16, 2}, .stored = {16, 3}}, 8, 2, 4, 2);
  add("cross_slices_8", {.places = cross, .rows = {16, 1}, .stored = {8, 0}}, 8, 2, 4, 4);
  add("cross_any_alignment", {.folds = wrapped, .places = cross, .rows = {4, 0}, .stored = {4, 0}}, 8, 2, 1, 8);
  add("box_reflect_bf16", {.folds = reflected, .places = box, .type = DType::bf16}, 4, 4, 8, 2);
  add("box_u8", {.folds = {Fold::symmetric, Fold::wrap}, .places = box, .type = DType::u8}, 4, 4, 4, 4);
  add("box_f64_wide",
      {.folds = {Fold::symmetric, Fold::clamp}, .places = box, .type = DType::f64, .width = IndexWidth::bits64}, 4, 4,
      2, 4);
  add("cross_with_others", {.folds = clamped, .places = cross, .others = {"sc", "bc", "sb", "bb"}, .has_index = true},
      8, 2, 4, 2);
  add("row_only", {.folds = {Fold::none, Fold::wrap}, .places = {{0, 2}, {0, -3}}}, 8, 4, 4, 2);
  add("column_only", {.folds = {Fold::clamp, Fold::none}, .places = {{2, 0}, {-3, 0}}}, 8, 4, 4, 2);
  add("one_place", {.folds = reflected, .places = {{1, -2}}}, 8, 4, 4, 2);
  add("star", {.axes = "ssc", .folds = {Fold::clamp, Fold::wrap, Fold::reflect}, .places = star}, 8, 2, 4, 2);
  add("star_slices", {.axes = "ssc", .places = star}, 8, 2, 4, 2);
  add("planes",
      {.axes = "ssc", .folds = {Fold::none, Fold::clamp, Fold::clamp}, .places = {{0, 1, 0}, {0, -1, 0}, {0, 0, 1}}}, 8,
      2, 4, 2);
  add("batches",
      {.axes = "sssc",
       .folds = {Fold::none, Fold::clamp, Fold::none, Fold::clamp},
       .places = {{0, 1, 0, 0}, {0, -1, 0, 1}}},
      8, 2, 4, 2);
  add("line_wrap", {.axes = "c", .folds = {Fold::wrap}, .places = line3}, 32, 1, 4, 1);
  add("line_slices", {.axes = "c", .places = line5, .rows = {16, 2}, .stored = {16, 0}}, 32, 1, 4, 1);
  add("line_symmetric_i16", {.axes = "c", .folds = {Fold::symmetric}, .places = line5, .type = DType::i16}, 32, 1, 8,
      1);
  add_alone(result);
  return result;
}

std::vector<Case> golden_windows() {
  const std::vector<Fold> clamped(2, Fold::clamp);
  return {{"window_cross_f32", kernel_of({.folds = clamped, .places = cross}), {{8192, 8192}}},
          {"window_slices_f32", kernel_of({.places = cross, .rows = {16, 1}, .stored = {16, 1}}), {{8190, 8190}}},
          {"window_line_f32", kernel_of({.axes = "c", .folds = {Fold::wrap}, .places = line3}), {{1 << 26}}}};
}

}  // namespace kiln::golden
