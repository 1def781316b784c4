// codegen/emit/cuda_row_reduction.cpp -- reductions along rows: passes over rows that are held or read again, joins,
// results per element and per row.
#include "codegen/emit/cuda_row_reduction.h"

#include <algorithm>
#include <iterator>

#include "codegen/emit/cuda_reduction.h"
#include "codegen/emit/cuda_types.h"
#include "codegen/schedule/row_reduction.h"
#include "codegen/schedule/row_work.h"
#include "support/check.h"

namespace kiln::codegen::cuda {

RowWriter::RowWriter(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options)
    : ReductionWriter(kernel, schedule, options), held_(held_accesses(kernel)) {
  KILN_INTERNAL_CHECK(!schedule.split || (passes_count() == 1 && !stages_.has_element_outputs),
                      "rows shared by blocks take one pass, not {}", passes_count());
  if (schedule.shifted) anchor_ = shift_anchor(kernel).value();
  if (schedule.vector > 1) find_gathered_rows();
}

std::string RowWriter::schedule_text() const {
  std::string text = fmt::format("rows, {} threads per block, {} per row", schedule_.block, schedule_.lanes);
  if (schedule_.rows > 1) text += fmt::format(", {} rows at a time", schedule_.rows);
  text += fmt::format(", {} vector{} of {} {}", schedule_.items, schedule_.items == 1 ? "" : "s", schedule_.vector,
                      schedule_.resident ? "held" : "per step");
  if (schedule_.split) text += ", blocks share a row";
  if (prefetches()) text += ", the next row read ahead";
  if (schedule_.whole_rows) return text + ", no partial step";
  if (schedule_.shifted) return text + ", aligned to the elements of each row";
  if (schedule_.vector > 1) text += schedule_.whole_vectors ? ", no partial vector" : ", last vector may be partial";
  return text;
}

void RowWriter::statements() {
  for (std::size_t pass = 0; pass < passes_count(); ++pass)
    declare_state(state_type(pass), monoids_[pass], schedule_.lanes > 1,
                  !runs_on(pass)            ? Running::none
                  : sums_exponentials(pass) ? Running::totals
                                            : Running::batches);
  if (!schedule_.split && !prefetches()) declare_block(shares_block() || several_rows() ? 0 : schedule_.cluster);
  if (kernel_.reduced > 1) {
    std::string count = extent(static_cast<std::size_t>(kept()));
    for (int axis = kept() + 1; axis < kernel_.rank; ++axis) count += " * " + extent(static_cast<std::size_t>(axis));
    line("const {} n = {};", index_, count);
  }
  if (is_cluster()) {
    line("const u32 lane = {}() * {}u + threadIdx.x;", prelude_.use("cluster_rank"), schedule_.block);
  } else {
    line("const u32 lane = threadIdx.x{};", shares_block() ? fmt::format(" % {}u", schedule_.lanes) : "");
    for (std::size_t pass = 0; schedule_.lanes > 32 && pass < passes_count(); ++pass)
      line("__shared__ {} shared{}{}[{}];", state_type(pass), pass,
           several_rows() ? fmt::format("[{}]", schedule_.rows)
           : prefetches() ? "[2]"
                          : "",
           warps());
  }
  std::vector<std::size_t> held, others;
  for (std::size_t a = 0; a < kernel_.accesses.size(); ++a) {
    (schedule_.resident && held_[a] ? held : others).push_back(a);
  }
  if (is_cluster()) declare_shared(held);
  part_ = is_cluster() ? Part::registers : Part::all;
  if (!prefetches() || is_cluster()) declare_loads(held);
  if (prefetches() && is_cluster()) {
    cluster_rows(held, others);
  } else if (prefetches()) {
    next_rows(held);
    declare_row(others);
  } else if (several_rows()) {
    if (!held.empty()) {
      unrolled("r", schedule_.rows);
      row_position(held, false);
      load_vectors(held, !schedule_.whole_rows);
      close();
    }
    unrolled("r", schedule_.rows);
    declare_row(others);
  } else {
    std::vector<std::size_t> all = held;
    all.insert(all.end(), others.begin(), others.end());
    declare_row(all);
    if (is_cluster()) load_cluster(held);
    if (!is_cluster()) load_vectors(held, !schedule_.whole_rows);
  }
  passes();
  element_outputs();
  row_outputs();
  if (several_rows() || prefetches()) close();
  if (prefetches() && is_cluster()) close();
}

/// The loop over the rows of this block; the next row is on its way while one is worked on.
void RowWriter::next_rows(std::span<const std::size_t> held) {
  line("const {} rows = {};", index_, rows_text());
  suffix_ = "_next";
  declare_loads(held);
  line("{{");
  ++indent_;
  load_next("blockIdx.x", held);
  close();
  line("u32 turn = 0;");
  open(fmt::format("for ({} at = blockIdx.x; at < rows; at += gridDim.x, turn ^= 1)", index_));
  suffix_ = "";
  declare_loads(held);
  for (const std::size_t a : held) line("{0}({1}, {1}_next);", prelude_.use("take"), access_name(a));
  open("if (at + gridDim.x < rows)");
  load_next("at + gridDim.x", held);
  close();
  row_ = "at";
}

void RowWriter::load_next(const std::string& row, std::span<const std::size_t> held) {
  suffix_ = "_next", row_ = row;
  row_position(held, false);
  load_vectors(held, !schedule_.whole_rows);
  suffix_ = "";
}

/// Which row this is among all.
std::string RowWriter::row_text() const {
  if (!row_.empty()) return row_;
  const std::string block = block_index();
  if (schedule_.split) return "blockIdx.y";
  if (is_cluster()) return fmt::format("{} / {}u", block, schedule_.cluster);
  if (shares_block()) {
    const std::string group = several_rows() ? fmt::format("({} * {}u + r)", block, schedule_.rows) : block;
    return fmt::format("{} * {}u + threadIdx.x / {}u", group, schedule_.block / schedule_.lanes, schedule_.lanes);
  }
  return several_rows() ? fmt::format("{} * {}u + r", block, schedule_.rows) : block;
}

/// Coordinates of the row and pointers of `accesses` to it; groups of lanes beyond the last row work on that one and
/// write nothing.
void RowWriter::row_position(std::span<const std::size_t> accesses, bool writes) {
  const bool overhangs = shares_block() || several_rows();
  const std::string row = row_text();
  std::vector<int> axes;
  for (int axis = 0; axis < kept(); ++axis) axes.push_back(axis);
  if (axes.empty() && writes && overhangs) line("const bool inside = {} == 0;", row);
  pointers_.assign(kernel_.accesses.size(), "");
  std::vector<std::size_t> all = {accesses.begin(), accesses.end()};
  if (schedule_.shifted && std::find(all.begin(), all.end(), anchor_) == all.end()) all.push_back(anchor_);
  if (!axes.empty()) decode_row(row, all, writes && overhangs);
  for (const std::size_t a : all) row_pointer(a, axes);
  if (schedule_.shifted) declare_shift(accesses);
}

/// c0, c1, ... as far as `accesses` move along them.
void RowWriter::decode_row(const std::string& row, std::span<const std::size_t> accesses, bool writes) {
  const auto moves = [&](std::size_t axis) {
    return std::any_of(accesses.begin(), accesses.end(),
                       [&](std::size_t a) { return kernel_.accesses[a].axes[axis] != AxisClass::broadcast; });
  };
  std::string rest = row;
  if (kept() > 1 || schedule_.split || writes) {
    line("const {} row = {};", index_, row);
    rest = "row";
  }
  for (auto i = static_cast<std::size_t>(kept()); i-- > 1;) {
    const std::string quotient =
        kernel_.index == IndexWidth::bits64
            ? fmt::format("{}({}, {})", prelude_.use("divide64"), rest, extent(i))
            : fmt::format("{}({}, {})", prelude_.use("divide"), rest, field(ArgumentKind::divisor, 0, i));
    line("const {} q{} = {};", index_, i, quotient);
    if (moves(i)) line("const {0} c{1} = {2} - q{1} * {3};", index_, i, rest, extent(i));
    rest = fmt::format("q{}", i);
  }
  if (writes) line("const bool inside = {} < a.n0;", rest);
  if (!moves(0)) return;
  if (shares_block() || several_rows()) {
    line("const {0} c0 = {1} < a.n0 ? {1} : a.n0 - 1;", index_, rest);
  } else {
    line("const {} c0 = {};", index_, rest);
  }
}

void RowWriter::declare_row(std::span<const std::size_t> accesses) {
  row_position(accesses, true);
  for (const std::size_t a : accesses) {
    if (!is_iota(a) && !is_gathered(a) && !is_store(a) && !is_per_element(kernel_, kernel_.accesses[a]))
      line("const {} {} = *{};", storage(a), access_name(a), pointers_[a]);
  }
}

void RowWriter::each_tile(const std::function<void(bool)>& tile) {
  if (schedule_.resident) return tile(!schedule_.whole_rows);
  const std::string n = length(), size = tile_size();
  const std::string start = schedule_.split ? fmt::format("blockIdx.x * {}", size) : "0";
  const std::string step = schedule_.split ? fmt::format("gridDim.x * {}", size) : size;
  const char* wide = schedule_.split && kernel_.index == IndexWidth::bits64 ? "u64" : "";
  line("{{");
  ++indent_;
  line("{} first = {}({});", index_, wide, start);
  if (schedule_.shifted) {
    open(fmt::format("for (; first < {} + shift; first += {}({}))", n, wide, step));
    tile(true);
    close();
    close();
    return;
  }
  open(fmt::format("for (; first + {} <= {}; first += {}({}))", size, n, wide, step));
  tile(false);
  close();
  if (!schedule_.whole_rows) {
    open(fmt::format("if (first < {})", n));
    tile(true);
    close();
  }
  close();
}

void RowWriter::passes() {
  for (std::size_t pass = 0; pass < passes_count(); ++pass) {
    std::vector<NodeId> needed = operands(pass);
    for (const Monoid& monoid : monoids_[pass]) {
      for (const StateComponent& component : monoid.components) {
        if (component.identity != no_node) needed.push_back(component.identity);
      }
    }
    row_values(needed, [&](std::size_t a) { return row_place(a); });
    if (!schedule_.resident || !schedule_.whole_rows || is_cluster())
      line("const {} identity{} = {};", state_type(pass), pass, identity(pass));
    if (!schedule_.resident || is_cluster()) line("{} s{} = identity{};", state_type(pass), pass, pass);
    if (runs_on(pass)) line("{} low{} = {};", state_type(pass), pass, nothing_lost(pass));
    choose_summed_terms(pass);
    each_tile([&](bool predicated) { accumulate_tile(pass, predicated); });
    if (runs_on(pass)) line("s{0} = total(s{0}, low{0});", pass);
    join_pass(pass);
    name_results(pass, fmt::format("s{}", pass));
    stage_ = pass + 1;
  }
}

/// The elements of one tile, joined into s<pass>.
void RowWriter::accumulate_tile(std::size_t pass, bool predicated) {
  const std::vector<NodeId> roots = operands(pass);
  if (!schedule_.resident) {
    const std::vector<std::size_t> loads = loads_below(roots);
    declare_loads(loads);
    load_vectors(loads, predicated);
  }
  if (is_cluster())
    return each_part(sums_exponentials(pass), [&] {
      sums_exponentials(pass) ? cluster_logsumexp(pass, predicated) : cluster_state(pass, predicated);
    });
  if (sums_exponentials(pass)) return logsumexp_tile(pass, predicated);
  tile_state(pass, predicated);
  const std::string joined = fmt::format("{}(t{})", prelude_.use("tree"), pass);
  if (schedule_.resident) {
    line("{} s{} = {};", state_type(pass), pass, joined);
  } else {
    line("accumulate(s{0}, low{0}, {1});", pass, joined);
  }
}

void RowWriter::tile_state(std::size_t pass, bool predicated) {
  const std::vector<NodeId> roots = operands(pass);
  const std::vector<std::size_t> loads = loads_below(roots);
  std::vector<std::size_t> iotas;
  std::copy_if(loads.begin(), loads.end(), std::back_inserter(iotas), [&](std::size_t a) { return is_iota(a); });
  line("{} t{}[{}];", state_type(pass), pass, schedule_.items);
  open_vectors(iotas, predicated);
  load_gathered_rows(roots, predicated);
  const bool by_element = has_partial_vectors(predicated);
  const std::string u = schedule_.items > 1 ? "u" : "0";
  const std::string maximum = is_lone_maximum(pass) ? packed_maximum(roots[0]) : "";
  if (!maximum.empty()) {
    line("t{}[{}] = {}{{{}, 0}};", pass, u, state_type(pass), maximum);
    if (predicated && !by_element) line("if (j >= {}) t{}[{}] = identity{};", length(), pass, u, pass);
    if (!by_element) return close();
    open(fmt::format("if (!({}))", is_full()));
  }
  line("{} e[{}];", state_type(pass), schedule_.vector);
  if (schedule_.vector > 1) unrolled("k", schedule_.vector);
  element_values(batch_operands(pass, schedule_.vector), [&](std::size_t a) { return element_place(a); });
  line("e[{}] = {};", schedule_.vector > 1 ? "k" : "0", element_state(pass, schedule_.vector));
  if (schedule_.vector > 1) close();
  if (by_element) {
    if (maximum.empty()) line("if (!({}))", is_full());
    line("{}({}, identity{}, j, {});", prelude_.use("keep_between"), "e", pass, length());
  }
  line("t{}[{}] = {}(e);", pass, u, prelude_.use("tree"));
  if (!maximum.empty()) close();
  if (predicated && !by_element) line("if (j >= {}) t{}[{}] = identity{};", length(), pass, u, pass);
  close();
}

void RowWriter::join_pass(std::size_t pass) {
  if (schedule_.lanes <= 32) {
    if (schedule_.lanes > 1) line("s{0} = {1}<{2}>(s{0});", pass, prelude_.use("join_lanes"), schedule_.lanes);
    return;
  }
  // The first warp is enough where it writes the results, or sends them on.
  const bool everywhere = !schedule_.split && !is_cluster() && (pass + 1 < passes_count() || !stores(true).empty());
  line("s{0} = {1}<{2}{5}>(s{0}, {4}shared{0}{3});", pass, prelude_.use("join_block"), warps(),
       prefetches() && !is_cluster() ? "[turn]" : row_piece(), is_cluster() ? "shared." : "",
       everywhere ? "" : ", false");
  if (is_cluster() && prefetches()) {
    line("s{0} = {1}<{2}>(s{0}, shared.blocks{0}[turn % 2], shared.arrivals[{3}u + turn % 2], turn / 2 % 2);", pass,
         prelude_.use("join_cluster"), schedule_.cluster, 2 * pass);
  } else if (is_cluster()) {
    line("s{0} = {1}<{2}>(s{0}, shared.blocks{0}, shared.arrivals[{0}], 0);", pass, prelude_.use("join_cluster"),
         schedule_.cluster);
  }
  if (!schedule_.split) return;
  const std::string row = kept() > 0 ? " + row * gridDim.x" : "", counter = kept() > 0 ? " + row" : "";
  line("if (!{0}<{1}>(s{2}, identity{2}, reinterpret_cast<{3}*>(a.workspace){4}, a.counters{5}, shared{2})) return;",
       prelude_.use("join_blocks"), warps(), pass, state_type(pass), row, counter);
}

KernelSource emit_row_reduction(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options) {
  return RowWriter(kernel, schedule, options).write();
}

}  // namespace kiln::codegen::cuda
