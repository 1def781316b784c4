// codegen/emit/cuda_row_outputs.cpp -- results of row reductions, per element and per row, and divisions by values of
// the row.
#include <algorithm>
#include <iterator>

#include "codegen/emit/cuda_row_reduction.h"
#include "codegen/emit/cuda_types.h"

namespace kiln::codegen::cuda {

/// Divisors that all elements of a row share. A quotient by the reciprocal in two parts is rounded like a division as
/// long as nothing comes near the ends of the range; a vector where something does is divided again.
void RowWriter::declare_ratios(std::span<const NodeId> roots) {
  ratios_.clear();
  if (options_.fast_math) return;
  const Graph& graph = kernel_.body;
  std::vector<char> needed(graph.size(), 0);
  for (const NodeId root : roots) needed[root] = 1;
  for (NodeId id = graph.size(); id-- > 0;) {
    if (!needed[id] || !stages_.per_element[id]) continue;
    for (const NodeId operand : graph[id].inputs()) needed[operand] = 1;
    const Node& node = graph[id];
    if (node.kind != NodeKind::operation || node.op != Op::div || node.type != DType::f32 || node.payload != 0)
      continue;
    const NodeId divisor = node.operands[1];
    if (stages_.per_element[divisor] || !stages_.per_element[node.operands[0]] || ratios_.contains(divisor)) continue;
    const std::string ratio = fmt::format("by{}", ratios_.size());
    line("const Ratio {} = {}({});", ratio, prelude_.use("ratio"), name(divisor));
    ratios_[divisor] = ratio;
  }
}

std::string RowWriter::division_text(const Node& node) {
  if (!divides_fast_ || node.kind != NodeKind::operation || node.op != Op::div || node.payload != 0) return "";
  const auto ratio = ratios_.find(node.operands[1]);
  if (ratio == ratios_.end() || !stages_.per_element[node.operands[0]]) return "";
  const Node& dividend = kernel_.body[node.operands[0]];
  const Node& divisor = kernel_.body[node.operands[1]];
  const bool is_term = dividend.kind == NodeKind::operation && dividend.op == Op::exp &&
                       divisor.kind == NodeKind::reduce && kernel_.body.reduction(divisor).kind == Reduction::sum &&
                       divisor.operands[0] == node.operands[0];
  return fmt::format("{}({}, {}, plain)", prelude_.use(is_term ? "share" : "quotient"), name(node.operands[0]),
                     ratio->second);
}

void RowWriter::element_outputs() {
  const std::vector<std::size_t> outputs = stores(true);
  if (outputs.empty()) return;
  std::vector<NodeId> roots;
  for (const std::size_t a : outputs) roots.push_back(stored_value(a));
  row_values(roots, [&](std::size_t a) { return row_place(a); });
  declare_ratios(roots);
  each_tile([&](bool predicated) {
    if (is_cluster()) return each_part([&] { store_tile(roots, outputs, predicated); });
    store_tile(roots, outputs, predicated);
  });
}

void RowWriter::store_tile(std::span<const NodeId> roots, std::span<const std::size_t> outputs, bool predicated) {
  const std::vector<std::size_t> loads = loads_below(roots);
  if (!schedule_.resident) {
    declare_loads(loads);
    load_vectors(loads, predicated);
  }
  std::vector<std::size_t> moved = {outputs.begin(), outputs.end()};
  std::copy_if(loads.begin(), loads.end(), std::back_inserter(moved),
               [&](std::size_t a) { return is_iota(a) || (schedule_.resident && is_late(a)); });
  open_vectors(moved, predicated);
  read_shared(loads);
  for (const std::size_t a : loads) {
    if (!schedule_.resident || !is_late(a) || is_iota(a)) continue;
    line("{} {}[{}];", storage(a), access_name(a), schedule_.vector);
    load_vector(a, predicated);
  }
  for (const std::size_t a : outputs) {
    line("{} {}[{}];", storage(a), access_name(a), schedule_.vector);
    if (rounds(a)) line("float {}_f32[{}];", access_name(a), schedule_.vector);
  }
  if (!ratios_.empty()) {
    std::string plain;
    for (const auto& [divisor, ratio] : ratios_) plain += (plain.empty() ? "" : " && ") + ratio + ".plain";
    line("bool plain = {};", plain);
  }
  divides_fast_ = true;
  store_elements(roots, outputs);
  divides_fast_ = false;
  if (!ratios_.empty()) {
    open("if (!plain)");
    store_elements(roots, outputs);
    close();
  }
  for (const std::size_t a : outputs) store_vector(a, predicated);
  close();
}

void RowWriter::store_elements(std::span<const NodeId> roots, std::span<const std::size_t> outputs) {
  if (schedule_.vector > 1) unrolled("k", schedule_.vector);
  element_values(roots, [&](std::size_t a) { return element_place(a); });
  for (std::size_t o = 0; o < outputs.size(); ++o) line("{} = {};", element_place(outputs[o]), name(roots[o]));
  if (schedule_.vector > 1) close();
}

/// Written by the first lane of the row.
void RowWriter::row_outputs() {
  const std::vector<std::size_t> outputs = stores(false);
  if (outputs.empty()) return;
  open(fmt::format("if (lane == 0{})", shares_block() || several_rows() ? " && inside" : ""));
  std::vector<NodeId> roots;
  for (const std::size_t a : outputs) roots.push_back(kernel_.body.outputs[a - kernel_.first_store()]);
  row_values(roots, [&](std::size_t a) { return row_place(a); });
  for (std::size_t o = 0; o < outputs.size(); ++o) line("*({}) = {};", pointers_[outputs[o]], name(roots[o]));
  close();
}

}  // namespace kiln::codegen::cuda
