// codegen/emit/cuda_row_cluster.cpp -- rows that several blocks hold together: the first vectors of each thread in
// shared memory, the others in registers.
//
// Where a cluster fills its multiprocessors, clusters take rows in turn: as soon as a vector is written, its place is
// filled with that of the next row, which the first pass awaits chunk by chunk.
#include "codegen/emit/cuda_row_reduction.h"
#include "codegen/emit/cuda_types.h"

namespace kiln::codegen::cuda {

/// All of it is dynamic: more than 48 KB may be needed, and other blocks write to `blocks`.
void RowWriter::declare_shared(std::span<const std::size_t> held) {
  std::string text =
      fmt::format("struct alignas(16) Shared {{\n  u64 arrivals[{}];\n", passes_count() * (prefetches() ? 2 : 1));
  for (std::size_t pass = 0; pass < passes_count(); ++pass)
    text += fmt::format("  {0} shared{1}[{2}], blocks{1}{4}[{3}];\n", state_type(pass), pass, warps(),
                        schedule_.cluster, prefetches() ? "[2]" : "");
  for (const std::size_t a : held) {
    if (schedule_.tile == 0) continue;
    const std::size_t bytes = size_of(kernel_.accesses[a].type) * static_cast<std::size_t>(schedule_.vector);
    text += fmt::format("  {}<{}>::type {}[{}][{}];\n", prelude_.use("Word"), bytes, access_name(a), schedule_.tile,
                        schedule_.block);
  }
  definitions_ += text + "};\n\n";
  line("Shared& shared = *reinterpret_cast<Shared*>({}());", prelude_.use("shared_memory"));
  line("{}(shared.arrivals);", prelude_.use("cluster_start"));
}

/// Copies to shared memory run while the other loads are issued; each thread reads back what it copied itself.
void RowWriter::load_cluster(std::span<const std::size_t> held) {
  const bool predicated = !schedule_.whole_rows;
  if (schedule_.tile > 0) {
    part_ = Part::shared;
    open_vectors(held, predicated);
    for (const std::size_t a : held) copy_vector(a, predicated);
    if (prefetches())
      line("if (u % {} == {} || u == {}) {}();", chunk_vectors, chunk_vectors - 1, schedule_.tile - 1,
           prelude_.use("copy_commit"));
    close();
  }
  part_ = Part::registers;
  load_vectors(held, predicated);
  if (prefetches()) return;
  if (schedule_.tile > 0) line("{}();", prelude_.use("copy_wait"));
  line("cluster_started();  // every block may be written to");
}

/// From the row to shared memory, where places past the end become zeros.
void RowWriter::copy_vector(std::size_t a, bool predicated) {
  const std::string to = fmt::format("shared.{}[u][threadIdx.x]", access_name(a));
  if (!schedule_.shifted) {
    line("{}({}, {}, {});", prelude_.use("copy_async"), to, place(a),
         predicated ? fmt::format("j < {}", length()) : "true");
    return;
  }
  line("if ({}) {{", whole_condition(a));
  line("  {}({}, {}, true);", prelude_.use("copy_async"), to, place(a));
  open("} else");
  line("{} piece[{}];", storage(a), schedule_.vector);
  line("{}(piece, {});", prelude_.use("read_between"), row_pieces(a));
  line("{}({}, piece);", prelude_.use("keep_as_word"), to);
  close();
}

/// The loop over the rows of this cluster. Pointers of `held` are those of the next row, of `others` of the row at
/// hand.
void RowWriter::cluster_rows(std::span<const std::size_t> held, std::span<const std::size_t> others) {
  line("const {} rows = {}, step = gridDim.x / {}u;", index_, rows_text(), schedule_.cluster);
  row_ = fmt::format("blockIdx.x / {}u", schedule_.cluster);
  line("{{");
  ++indent_;
  row_position(held, false);
  load_cluster(held);
  close();
  line("cluster_started();  // every block may be written to");
  line("u32 turn = 0;");
  open(fmt::format("for ({} at = {}; at < rows; at += step, ++turn)", index_, row_));
  line("const bool more = at + step < rows;");
  line("const {} next = more ? at + step : at;", index_);
  row_ = "next";
  row_position(held, false);
  const std::vector<std::string> next = pointers_;
  line("{{");
  ++indent_;
  row_ = "at";
  declare_row(others);
  for (const std::size_t a : held) pointers_[a] = next[a];
}

std::vector<std::size_t> RowWriter::held_loads() const {
  std::vector<std::size_t> loads;
  for (std::size_t a = 0; a < held_.size(); ++a) {
    if (held_[a]) loads.push_back(a);
  }
  return loads;
}

/// The places of the chunk at hand get the vectors of the next row.
void RowWriter::copy_next(std::span<const std::size_t> held, bool predicated) {
  open("if (more)");
  open_vectors(held, predicated);
  for (const std::size_t a : held) copy_vector(a, predicated);
  close();
  line("{}();", prelude_.use("copy_commit"));
  close();
}

/// Results of clusters that take rows in turn come from the registers first: those are filled again sooner.
void RowWriter::each_part(bool by_chunk, const std::function<void()>& statements) {
  const bool writes = stage_ == passes_count(), awaits = prefetches() && stage_ == 0;
  const auto registers = [&] {
    part_ = Part::registers;
    if (schedule_.items > schedule_.tile) statements();
  };
  if (writes && prefetches()) registers();
  part_ = Part::shared;
  if (schedule_.tile > 0 && !by_chunk && !awaits) statements();
  for (chunk_ = 0; (by_chunk || awaits) && chunk_ < chunks(); ++chunk_) {
    if (awaits) line("{}<{}>();", prelude_.use("copy_wait_group"), chunks() - 1 - chunk_);
    statements();
  }
  chunk_ = -1;
  if (!writes || !prefetches()) registers();
}

void RowWriter::read_shared(std::span<const std::size_t> loads) {
  if (part_ != Part::shared) return;
  for (const std::size_t a : loads) {
    if (is_iota(a) || is_late(a)) continue;
    line("{} {}[{}];", storage(a), access_name(a), schedule_.vector);
    line("{0}<{1}>({2}, reinterpret_cast<const {3}*>(&shared.{2}[u][threadIdx.x]));", prelude_.use("read"),
         schedule_.vector, access_name(a), storage(a));
  }
}

/// Joins the part at hand to s<pass>, a vector at a time.
void RowWriter::cluster_state(std::size_t pass, bool predicated) {
  const std::vector<NodeId> roots = operands(pass);
  const std::vector<std::size_t> loads = loads_below(roots);
  std::vector<std::size_t> iotas;
  for (const std::size_t a : loads) {
    if (is_iota(a)) iotas.push_back(a);
  }
  open_vectors(iotas, predicated);
  read_shared(loads);
  load_gathered_rows(roots, predicated);
  line("{} e[{}];", state_type(pass), schedule_.vector);
  if (schedule_.vector > 1) unrolled("k", schedule_.vector);
  element_values(batch_operands(pass, schedule_.vector), [&](std::size_t a) { return element_place(a); });
  line("e[{}] = {};", schedule_.vector > 1 ? "k" : "0", element_state(pass, schedule_.vector));
  if (schedule_.vector > 1) close();
  const bool partial = has_partial_vectors(predicated);
  if (partial) line("if (!({})) {}(e, identity{}, j, {});", is_full(), prelude_.use("keep_between"), pass, length());
  const std::string state = fmt::format("{}(e)", prelude_.use("tree"));
  line("accumulate(s{0}, low{0}, {1});", pass,
       predicated && !partial ? fmt::format("j < {} ? {} : identity{}", length(), state, pass) : state);
  close();
}

}  // namespace kiln::codegen::cuda
