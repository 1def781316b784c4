// codegen/emit/cuda_scan.cpp -- running reductions: pieces of rows, what precedes each element, results.
//
// s<group>[u][k] runs within a thread, before<group> holds what precedes the thread, carry<group> what precedes the
// piece. Positions past the end follow all others, so what stands there never matters.
#include "codegen/emit/cuda_scan.h"

#include <algorithm>

#include "codegen/emit/cuda_reduction.h"
#include "codegen/emit/cuda_types.h"
#include "codegen/schedule/scan.h"
#include "support/check.h"

namespace kiln::codegen::cuda {

ScanWriter::ScanWriter(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options)
    : ColumnWriter(kernel, schedule, options) {
  stages_.passes = scan_groups(kernel.body);
  for (const auto& group : stages_.passes) {
    monoids_.emplace_back();
    for (const NodeId node : group) monoids_.back().push_back(monoid_of(kernel.body, node));
  }
  KILN_INTERNAL_CHECK(stores(false).empty(), "a scan with {} outputs per row", stores(false).size());
}

std::string ScanWriter::schedule_text() const {
  std::string text = fmt::format("scan, {} threads per block, vectors of {}, {} per thread", schedule_.block,
                                 schedule_.vector, schedule_.items);
  if (by_columns()) return text + (schedule_.split ? ", by columns, pieces look back" : ", by columns");
  if (!by_block()) return text + fmt::format(", {} lanes per row", schedule_.lanes);
  return text + (schedule_.split ? ", a block per piece, which looks back" : ", a block per row");
}

void ScanWriter::statements() {
  declare_states(false, has_carry() ? Running::batches : Running::none);
  if (!by_columns()) {
    for (std::size_t group = 0; group < passes_count(); ++group) print_from_lane(group);
  }
  if (schedule_.split) {
    take_ticket();
  } else {
    declare_block(by_block() ? 1 : 0);
  }
  const std::string tile = schedule_.split ? "tile" : block_text();
  if (by_columns()) {
    position(tile);
  } else {
    row_position();
  }
  line("const {} last = {};", index_, length());
  std::vector<NodeId> roots;
  for (const std::size_t a : stores(true)) roots.push_back(stored_value(a));
  for (std::size_t group = 0; group < passes_count(); ++group) {
    for (const NodeId node : operands(group)) roots.push_back(node);
    for (const Monoid& monoid : monoids_[group]) {
      for (const StateComponent& component : monoid.components) {
        if (component.identity != no_node) roots.push_back(component.identity);
      }
    }
  }
  if (by_columns()) {
    column_values(roots);
  } else {
    row_values(roots, [this](std::size_t a) { return scan_row_place(a); });
  }
  if (has_carry()) declare_carries();
  const bool walks = has_carry() && !schedule_.split;
  const std::string size = by_columns() ? fmt::format("(blockDim.y * {}u)", schedule_.items)
                                        : fmt::format("{}u", schedule_.lanes * schedule_.vector * schedule_.items);
  if (walks) open(fmt::format("for ({0} piece = 0; piece * {1} < last; ++piece)", index_, size));
  piece();
  if (walks) close();
  if (schedule_.split) line("{}(a.counters, 2u + {}u * gridDim.x);", prelude_.use("leave_zeros"), passes_count());
}

/// The state of another lane.
void ScanWriter::print_from_lane(std::size_t group) {
  const std::string type = state_type(group);
  std::string text = fmt::format("DEVICE {0} from_lane(const {0}& s, int lane) {{\n  {0} r;\n", type);
  for (std::size_t r = 0; r < monoids_[group].size(); ++r) {
    const Monoid& monoid = monoids_[group][r];
    for (std::size_t c = 0; c < monoid.components.size(); ++c) {
      const std::string field = state_field(monoid, r, c);
      const DType component = monoid.components[c].type;
      const bool narrow = size_of(component) < 4;
      std::string value = fmt::format("__shfl_sync(~0u, {}, lane)", narrow ? "i32(s." + field + ")" : "s." + field);
      if (component == DType::b1) {
        value += " != 0";
      } else if (narrow) {
        value = fmt::format("{}({})", value_type(component), value);
      }
      text += fmt::format("  r.{} = {};\n", field, value);
    }
  }
  definitions_ += text + "  return r;\n}\n\n";
}

/// Pieces are taken in the order in which blocks start, so that those before are always under way.
void ScanWriter::take_ticket() {
  line("const u32 ticket = {}(a.counters);", prelude_.use("take_ticket"));
  const std::string kept = rows_text();
  if (by_columns()) {
    line("const u32 width = blockDim.x * {}u;", schedule_.vector);
    line("const u32 tiles = u32(({} + width - 1) / width);", kept);
  } else {
    line("const u32 width = 1, tiles = u32({});", kept);
  }
  line("const {0} piece = ticket / tiles;", index_);
  if (kept_ > 0) line("const u32 tile = ticket % tiles;");
}

void ScanWriter::declare_carries() {
  for (std::size_t group = 0; group < passes_count(); ++group) {
    const std::string type = state_type(group);
    line("{0} carry{1}[{2}], low{1}[{2}];", type, group, runs());
    unrolled("k", runs());
    line("carry{0}[k] = {1}, low{0}[k] = {2}();", group, identity(group), type);
    close();
  }
}

void ScanWriter::piece() {
  std::vector<std::size_t> loads;
  for (std::size_t a = 0; a < kernel_.first_store(); ++a) {
    if (is_element(a)) loads.push_back(a);
  }
  if (by_columns()) {
    line("const {} row = (piece * blockDim.y + threadIdx.y) * {}u;", index_, schedule_.items);
    load_rows(std::move(loads), {}, "at >= last");
  } else {
    load_vectors();
  }
  for (std::size_t group = 0; group < passes_count(); ++group) scan_group(group);
  outputs();
}

void ScanWriter::results(std::span<const NodeId> roots) {
  const std::vector<char> needed = below(roots);
  for (std::size_t group = 0; group < passes_count(); ++group) {
    const auto& scans = stages_.passes[group];
    if (std::none_of(scans.begin(), scans.end(), [&](NodeId id) { return needed[id] != 0; })) continue;
    line("const {0} r{1} = join(before{1}[{2}], s{1}[u][k]);", state_type(group), group, by_columns() ? "k" : "u");
  }
}

/// Statements of the current element: coordinates, results of scans, values below `roots`.
void ScanWriter::element(std::span<const NodeId> roots) {
  if (needs_coordinates(roots)) {
    if (by_columns()) {
      row_coordinates(row());
    } else {
      line("const {} c{} = {} + k;", index_, kernel_.rank - 1, vector_position());
    }
  }
  results(roots);
  element_values(roots, [this](std::size_t a) { return element_place(a); });
}

void ScanWriter::scan_group(std::size_t group) {
  const std::string type = state_type(group), neutral = identity(group);
  const int outer = by_columns() ? schedule_.vector : schedule_.items;
  const int inner = by_columns() ? schedule_.items : schedule_.vector;
  const char* thread = by_columns() ? "k" : "u";
  const char* along = by_columns() ? "u" : "k";
  line("{0} s{1}[{2}][{3}], before{1}[{4}], all{1}[{4}];", type, group, schedule_.items, schedule_.vector, outer);
  unrolled(thread, outer);
  line("{} run = {};", type, neutral);
  unrolled(along, inner);
  element(operands(group));
  line("run = {} > 0 ? join(run, {}) : {};", along, element_state(group), element_state(group));
  line("s{}[u][k] = run;", group);
  close();
  line("all{0}[{1}] = run, before{0}[{1}] = {2};", group, thread, neutral);
  close();
  std::string totals = fmt::format("all{}", group);
  if (by_columns()) {
    line("{}<{}>(before{}, all{});", prelude_.use("scan_rows"), schedule_.block, group, group);
  } else {
    const std::string lanes_text =
        fmt::format("{}<{}>(before{}, all{});", prelude_.use("scan_lanes"), lanes(), group, group);
    if (by_block()) {
      totals = fmt::format("total{}", group);
      line("{} {}[1], outer{} = {};", type, totals, group, neutral);
      line("{}[0] = {}", totals, lanes_text);
      line("{0}[0] = {1}<{2}>(outer{3}, {0}[0]);", totals, prelude_.use("scan_warps"), schedule_.block / 32, group);
    } else {
      line("{}", lanes_text);
    }
  }
  if (has_carry()) carry(group, totals);
  name_results(group, fmt::format("r{}", group));
}

/// What precedes the piece joins what precedes the thread within it.
void ScanWriter::carry(std::size_t group, const std::string& totals) {
  const std::string type = state_type(group);
  if (schedule_.split) {
    std::string offset;
    for (std::size_t before = 0; before < group; ++before)
      offset += fmt::format(" + u64(3) * sizeof({}) * gridDim.x * width", state_type(before));
    line("{}<{}>(carry{}, low{}, {}, {}, width, tiles, ticket, a.counters + 2 + {}u * gridDim.x,",
         prelude_.use("look_back"), by_columns() ? 32 : 1, group, group, totals,
         by_columns() ? fmt::format("threadIdx.y == 0, threadIdx.x, threadIdx.x * {}u", schedule_.vector)
                      : std::string("threadIdx.x == 0, 0u, 0u"),
         group);
    line("    reinterpret_cast<{}*>(a.workspace{}));", type, offset);
  }
  const std::string preceding =
      schedule_.split ? fmt::format("carry{}[k]", group) : fmt::format("total(carry{0}[k], low{0}[k])", group);
  if (by_columns()) {
    unrolled("k", schedule_.vector);
    line("before{0}[k] = join({1}, before{0}[k]);", group, preceding);
  } else {
    unrolled("k", 1);
    line("outer{0} = join({1}, outer{0});", group, preceding);
  }
  if (!schedule_.split) line("accumulate(carry{0}[k], low{0}[k], {1}[k]);", group, totals);
  close();
  if (by_columns()) return;
  unrolled("u", schedule_.items);
  line("before{0}[u] = join(outer{0}, before{0}[u]);", group);
  close();
}

void ScanWriter::outputs() {
  std::vector<NodeId> roots;
  for (const std::size_t a : stores(true)) {
    roots.push_back(stored_value(a));
    line("{} {}[{}][{}];", storage(a), access_name(a), schedule_.items, schedule_.vector);
    if (rounds(a)) line("float {}_f32[{}][{}];", access_name(a), schedule_.items, schedule_.vector);
  }
  unrolled("u", schedule_.items);
  unrolled("k", schedule_.vector);
  element(roots);
  for (const std::size_t a : stores(true))
    line("{}{}[u][k] = {};", access_name(a), rounds(a) ? "_f32" : "", name(stored_value(a)));
  close();
  for (const std::size_t a : stores(true)) round_results(a, "[u]");
  if (by_columns()) {
    open(fmt::format("if (inside && {} < last)", row()));
    row_coordinates(row());
    for (const std::size_t a : stores(true)) write_vector(a, access_name(a) + "[u]", pointers_[a] + row_offset(a));
    close();
  } else {
    store_vectors();
  }
  close();
}

KernelSource emit_scan(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options) {
  return ScanWriter(kernel, schedule, options).write();
}

}  // namespace kiln::codegen::cuda
