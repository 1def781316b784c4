// codegen/emit/cuda_columns.cpp -- column reductions: the passes over the rows and what stands between them.
//
// A block is blockDim.x vectors of columns wide and reads blockDim.y rows at a time; thread x of it owns one vector of
// the kept axes, taken as one long row. Threads past the end read what column 0 has and store nothing.
#include "codegen/emit/cuda_columns.h"

#include "codegen/emit/cuda_reduction.h"
#include "codegen/emit/cuda_types.h"

namespace kiln::codegen::cuda {

ColumnWriter::ColumnWriter(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options)
    : ReductionWriter(kernel, schedule, options),
      kept_(kernel.rank - kernel.reduced),
      chain_(passes_count() > 1 || stages_.has_element_outputs) {
  if (schedule.form != Template::column_reduction) return;
  find_row_gathers(static_cast<std::size_t>(kept_) - 1);
  std::erase_if(row_gathers_, [this](const RowGather& gather) { return !stages_.per_element[gather.node]; });
  name_row_gathers("[u]", "[u][k]");
}

std::string ColumnWriter::schedule_text() const {
  std::string text = fmt::format("columns, {} threads per block, vectors of {}, {} rows at a time", schedule_.block,
                                 schedule_.vector, schedule_.items);
  if (schedule_.resident) text += ", held in registers";
  if (schedule_.split) text += ", rows shared by blocks";
  return text;
}

void ColumnWriter::statements() {
  declare_states(false);
  if (!schedule_.split) declare_block(0);
  position(schedule_.split ? "blockIdx.x" : block_text());
  rows_of_block();
  if (schedule_.resident) {
    std::vector<std::size_t> all;
    for (std::size_t a = 0; a < kernel_.first_store(); ++a) {
      if (is_element(a)) all.push_back(a);
    }
    std::vector<NodeId> indices;
    for (const RowGather& gather : row_gathers_)
      indices.push_back(kernel_.body[gather.node].operands[gather_displacement]);
    column_values(indices);
    load_rows(std::move(all), row_gathers_, "at >= last");
  }
  for (std::size_t pass = 0; pass < passes_count(); ++pass) {
    const bool everywhere = pass + 1 < passes_count() || stages_.has_element_outputs;
    read_rows(pass);
    join_threads(pass, everywhere);
    if (schedule_.split) join_parts(pass);
    name_results(pass, fmt::format("s{}[k]", pass));
  }
  if (stages_.has_element_outputs) element_outputs();
  row_outputs();
}

void ColumnWriter::position(const std::string& tile) {
  const std::string kept = rows_text();
  const bool wide = kernel_.index == IndexWidth::bits64;
  line("const {} kept = {};", index_, kept);
  line("const {} start = ({} * blockDim.x + threadIdx.x) * {}u;", index_, wide ? "u64(" + tile + ")" : tile,
       schedule_.vector);
  line("const bool inside = start < kept;");
  line("const {} i = inside ? start : 0;", index_);
  decode("i", 0, kept_);
  kept_pointers("column");
}

void ColumnWriter::kept_pointers(const char* suffix) {
  std::vector<int> axes;
  for (int axis = 0; axis < kept_; ++axis) axes.push_back(axis);
  pointers_.assign(kernel_.accesses.size(), "");
  for (std::size_t a = 0; a < kernel_.accesses.size(); ++a) {
    const std::string offset = outer_offset(a, axes);
    const std::string base = field(is_iota(a) ? ArgumentKind::offset : ArgumentKind::pointer, a);
    pointers_[a] = base;
    if (offset.empty()) continue;
    pointers_[a] = fmt::format("{}_{}", access_name(a), suffix);
    if (is_iota(a)) {
      line("const i64 {} = {}{};", pointers_[a], base, offset);
    } else {
      line("{}{}* const {} = {} + ({});", is_store(a) ? "" : "const ", storage(a), pointers_[a], base,
           offset.substr(3));
    }
  }
}

/// The rows of this block: all of them, or its share.
void ColumnWriter::rows_of_block() {
  std::string rows = extent(static_cast<std::size_t>(kept_));
  for (int axis = kept_ + 1; axis < kernel_.rank; ++axis) rows += " * " + extent(static_cast<std::size_t>(axis));
  if (!schedule_.split) {
    line("const {} last = {};", index_, rows);
    line("const {} first = threadIdx.y;", index_);
    return;
  }
  line("const {0} rows = {1}, share = rows / gridDim.y, rest = rows % gridDim.y;", index_, rows);
  line("const {0} begin = blockIdx.y * share + (blockIdx.y < rest ? blockIdx.y : rest);", index_);
  line("const {0} last = begin + share + (blockIdx.y < rest ? 1 : 0);", index_);
  line("const {} first = begin + threadIdx.y;", index_);
}

void ColumnWriter::declare_running(std::size_t pass) {
  const std::string type = state_type(pass);
  line("{0} s{1}[{2}], low{1}[{2}];", type, pass, schedule_.vector);
  unrolled("k", schedule_.vector);
  line("s{0}[k] = {1}, low{0}[k] = {2};", pass, identity(pass), nothing_lost(pass));
  close();
}

std::string ColumnWriter::row() const { return schedule_.resident ? "first + u * blockDim.y" : "row + u * blockDim.y"; }

std::string ColumnWriter::exists() const { return (schedule_.resident ? "" : "!tail || ") + row() + " < last"; }

/// What one batch of rows adds to the states of the columns.
void ColumnWriter::accumulate(std::size_t pass) {
  const std::string type = state_type(pass);
  unrolled("k", schedule_.vector);
  line("{} batch[{}];", type, schedule_.items);
  unrolled("u", schedule_.items);
  if (needs_coordinates(operands(pass))) row_coordinates(row());
  element_values(batch_operands(pass, schedule_.items), [this](std::size_t a) { return element_place(a); });
  line("batch[u] = {} ? {} : {};", exists(), element_state(pass, schedule_.items), identity(pass));
  close();
  line("accumulate(s{0}[k], low{0}[k], {1}(batch));", pass, prelude_.use("tree"));
  close();
}

void ColumnWriter::read_rows(std::size_t pass) {
  std::vector<NodeId> roots = operands(pass);
  for (const Monoid& monoid : monoids_[pass]) {
    for (const StateComponent& component : monoid.components) {
      if (component.identity != no_node) roots.push_back(component.identity);
    }
  }
  column_values(roots);
  declare_running(pass);
  if (schedule_.resident) {
    accumulate(pass);
  } else {
    // Printed once and unrolled to two loops: the second one, over what is left, looks whether each row exists.
    line("{{");
    ++indent_;
    line("{} row = first;", index_);
    unrolled("tail", 2);
    open(fmt::format("for (; tail ? row < last : row + {}u * blockDim.y < last; row += {}u * blockDim.y)",
                     schedule_.items - 1, schedule_.items));
    load_rows(operands_below(operands(pass)), gathers_below(operands(pass)), "tail && at >= last");
    accumulate(pass);
    close();
    close();
    close();
  }
  unrolled("k", schedule_.vector);
  line("s{0}[k] = total(s{0}[k], low{0}[k]);", pass);
  close();
}

/// Joins the states of the threads that share columns; `everywhere`: all of them need the result.
void ColumnWriter::join_threads(std::size_t pass, bool everywhere) {
  line("{}<{}>(s{});", prelude_.use(everywhere ? "join_rows_everywhere" : "join_rows"), schedule_.block, pass);
}

/// The block that arrives last at a tile joins the states of all blocks, in their order.
void ColumnWriter::join_parts(std::size_t pass) {
  const std::string type = state_type(pass);
  line("{0}* const partial = reinterpret_cast<{0}*>(a.workspace) + i;", type);
  open("if (threadIdx.y == 0 && inside)");
  unrolled("k", schedule_.vector);
  line("partial[u64(blockIdx.y) * kept + k] = s{}[k];", pass);
  close();
  close();
  line("if (!{}(a.counters + blockIdx.x)) return;", prelude_.use("arrives_last"));
  unrolled("k", schedule_.vector);
  line("s{0}[k] = {1};", pass, identity(pass));
  close();
  open("for (u32 part = threadIdx.y; part < gridDim.y; part += 4u * blockDim.y)");
  line("{} from[{}][4];", type, schedule_.vector);
  unrolled("u", 4);
  line("const u32 p = part + u * blockDim.y;");
  unrolled("k", schedule_.vector);
  line("from[k][u] = p < gridDim.y ? {}(partial + u64(p) * kept + k) : {};", prelude_.use("load_state"),
       identity(pass));
  close();
  close();
  unrolled("k", schedule_.vector);
  line("s{0}[k] = join(s{0}[k], {1}(from[k]));", pass, prelude_.use("tree"));
  close();
  close();
  join_threads(pass, false);
}

/// The last pass: values of every element, from the last row to the first, because those rows are still in the caches.
void ColumnWriter::element_outputs() {
  std::vector<NodeId> roots;
  for (const std::size_t a : stores(true)) roots.push_back(stored_value(a));
  column_values(roots);
  if (!schedule_.resident) {
    line("const {} step = {}u * blockDim.y;", index_, schedule_.items);
    open(fmt::format("for ({} n = (last + step - 1) / step; n-- > 0;)", index_));
    line("const {} row = first + n * step;", index_);
    line("if (row >= last) continue;");
    load_rows(operands_below(roots), gathers_below(roots), "at >= last");
  }
  for (const std::size_t a : stores(true)) {
    line("{} {}[{}][{}];", storage(a), access_name(a), schedule_.items, schedule_.vector);
    if (rounds(a)) line("float {}_f32[{}][{}];", access_name(a), schedule_.items, schedule_.vector);
  }
  unrolled("u", schedule_.items);
  unrolled("k", schedule_.vector);
  if (needs_coordinates(roots)) row_coordinates(row());
  element_values(roots, [this](std::size_t a) { return element_place(a); });
  for (const std::size_t a : stores(true))
    line("{}{}[u][k] = {};", access_name(a), rounds(a) ? "_f32" : "", name(stored_value(a)));
  close();
  for (const std::size_t a : stores(true)) round_results(a, "[u]");
  open(fmt::format("if (inside && {} < last)", row()));
  row_coordinates(row());
  for (const std::size_t a : stores(true)) write_vector(a, access_name(a) + "[u]", pointers_[a] + row_offset(a));
  close();
  close();
  if (!schedule_.resident) close();
}

void ColumnWriter::row_outputs() {
  const std::vector<std::size_t> outputs = stores(false);
  if (outputs.empty()) return;
  // An output may lie where an operand per column does, which other threads still read.
  if (stages_.has_element_outputs) line("__syncthreads();");
  line("if (threadIdx.y > 0 || !inside) return;");
  std::vector<NodeId> roots;
  for (const std::size_t a : outputs) roots.push_back(stored_value(a));
  column_values(roots);
  for (const std::size_t a : outputs) {
    line("{} {}[{}];", storage(a), access_name(a), schedule_.vector);
    if (rounds(a)) line("float {}_f32[{}];", access_name(a), schedule_.vector);
  }
  unrolled("k", schedule_.vector);
  for (const std::size_t a : outputs)
    line("{}{}[k] = {};", access_name(a), rounds(a) ? "_f32" : "", name(stored_value(a)));
  close();
  for (const std::size_t a : outputs) {
    round_results(a, "");
    write_vector(a, access_name(a), pointers_[a]);
  }
}

KernelSource emit_column_reduction(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options) {
  return ColumnWriter(kernel, schedule, options).write();
}

}  // namespace kiln::codegen::cuda
