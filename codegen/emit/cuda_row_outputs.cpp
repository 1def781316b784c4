// codegen/emit/cuda_row_outputs.cpp -- results of row reductions, per element and per row, and divisions by values of
// the row.
#include <algorithm>
#include <iterator>

#include "codegen/emit/cuda_row_reduction.h"
#include "codegen/emit/cuda_types.h"
#include "codegen/ir/exponential_terms.h"

namespace kiln::codegen::cuda {

/// Terms of sums that reductions of `pass` and nothing else needs: an error of 2^-24 |x - max| of exp(x - max) is below
/// that of the largest term, which is 1.
void RowWriter::choose_summed_terms(std::size_t pass) {
  term_forms_.assign(kernel_.body.size(), TermForm::function);
  if (options_.fast_math) return;
  const Graph& graph = kernel_.body;
  const std::vector<char> needed = below(operands(pass));
  for (const Monoid& monoid : monoids_[pass]) {
    const NodeId term = monoid.components[0].value;
    if (monoid.kind == Reduction::sum && monoid.components.size() == 1 && is_exponential_term(graph, term))
      term_forms_[term] = TermForm::summed;
  }
  for (const Monoid& monoid : monoids_[pass]) {
    for (const StateComponent& component : monoid.components) {
      if (monoid.kind != Reduction::sum || monoid.components.size() > 1)
        term_forms_[component.value] = TermForm::function;
    }
  }
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!needed[id] || graph[id].kind == NodeKind::reduce) continue;
    for (const NodeId operand : graph[id].inputs()) term_forms_[operand] = TermForm::function;
  }
}

/// Quotients that are only stored in 16 bits need no correction: a product with the reciprocal is within 1.5 ulp of
/// f32.
void RowWriter::choose_rounded_quotients(const std::vector<char>& needed, std::span<const NodeId> roots,
                                         std::span<const std::size_t> outputs) {
  const Graph& graph = kernel_.body;
  stored_as_.assign(graph.size(), StoredAs::nothing);
  for (std::size_t o = 0; o < roots.size(); ++o) {
    const bool f16 = rounds(outputs[o]) && kernel_.accesses[outputs[o]].type == DType::f16;
    const StoredAs form = f16 ? StoredAs::f16 : rounds(outputs[o]) ? StoredAs::bf16 : StoredAs::other;
    stored_as_[roots[o]] = std::max(stored_as_[roots[o]], form);
  }
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!needed[id] || !stages_.per_element[id]) continue;
    for (const NodeId operand : graph[id].inputs()) stored_as_[operand] = StoredAs::other;
  }
}

/// Terms of which only the share of their sum is needed, which is at least 1: the quotient is checked anyway, or
/// rounded to f16, of which the terms that are too small for exp_below are 0, or to bf16, for which they are scaled.
void RowWriter::choose_divided_terms(const std::vector<char>& needed, std::span<const NodeId> roots) {
  const Graph& graph = kernel_.body;
  checks_quotients_ = false;
  term_forms_.assign(graph.size(), TermForm::function);
  exponents_.clear();
  std::vector<char> other_use(graph.size(), 0);
  for (const NodeId root : roots) other_use[root] = 1;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!needed[id] || !stages_.per_element[id]) continue;  // the sum of the terms is no use of them here
    const Node& node = graph[id];
    const bool divides = node.kind == NodeKind::operation && node.op == Op::div && ratios_.contains(node.operands[1]) &&
                         is_sum_of_terms(graph, node.operands[1], node.operands[0]);
    for (const NodeId operand : node.inputs()) {
      if (divides && operand == node.operands[0]) {
        term_forms_[operand] = !rounds_quotient(id)              ? TermForm::divided
                               : stored_as_[id] == StoredAs::f16 ? TermForm::rounded
                                                                 : TermForm::scaled;
      } else {
        other_use[operand] = 1;
      }
    }
  }
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (other_use[id]) term_forms_[id] = TermForm::function;
    if (term_forms_[id] == TermForm::divided) exponents_.push_back(graph[id].operands[0]);
  }
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (!needed[id] || node.kind != NodeKind::operation || node.op != Op::div || !ratios_.contains(node.operands[1]))
      continue;
    const TermForm form = term_forms_[node.operands[0]];
    checks_quotients_ = checks_quotients_ || (form != TermForm::rounded && form != TermForm::scaled);
  }
}

std::string RowWriter::term_text(NodeId id) {
  if (term_forms_.empty() || term_forms_[id] == TermForm::function) return "";
  const std::string& exponent = name(kernel_.body[id].operands[0]);
  if (term_forms_[id] == TermForm::summed)
    return fmt::format("{}({} * 0x1.715476p+0f)", prelude_.use("exp2_approximate"), exponent);
  if (!divides_fast_) return "";
  const char* function = term_forms_[id] == TermForm::scaled ? "exp_below_scaled" : "exp_below";
  return fmt::format("{}({})", prelude_.use(function), exponent);
}

/// Divisors that all elements of a row share. A quotient by the reciprocal is rounded like a division as long as
/// nothing comes near the ends of the range; a vector where something does is divided again.
void RowWriter::declare_ratios(std::span<const NodeId> roots, std::span<const std::size_t> outputs) {
  ratios_.clear();
  exponents_.clear();
  term_forms_.clear();
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
  choose_rounded_quotients(needed, roots, outputs);
  choose_divided_terms(needed, roots);
}

bool RowWriter::rounds_quotient(NodeId id) const {
  return stored_as_[id] == StoredAs::f16 || stored_as_[id] == StoredAs::bf16;
}

std::string RowWriter::division_text(NodeId id) {
  const Node& node = kernel_.body[id];
  if (!divides_fast_ || node.kind != NodeKind::operation || node.op != Op::div || node.payload != 0) return "";
  const auto ratio = ratios_.find(node.operands[1]);
  if (ratio == ratios_.end() || !stages_.per_element[node.operands[0]]) return "";
  const std::string& dividend = name(node.operands[0]);
  if (term_forms_[node.operands[0]] == TermForm::scaled)
    return fmt::format("{} * ({}.reciprocal * 0x1p-8f)", dividend, ratio->second);
  if (rounds_quotient(id)) return fmt::format("{} * {}.reciprocal", dividend, ratio->second);
  if (term_forms_[node.operands[0]] == TermForm::divided)
    return fmt::format("{}({}, {})", prelude_.use("divided"), dividend, ratio->second);
  return fmt::format("{}({}, {}, plain)", prelude_.use("quotient"), dividend, ratio->second);
}

void RowWriter::element_outputs() {
  const std::vector<std::size_t> outputs = stores(true);
  if (outputs.empty()) return;
  std::vector<NodeId> roots;
  for (const std::size_t a : outputs) roots.push_back(stored_value(a));
  row_values(roots, [&](std::size_t a) { return row_place(a); });
  declare_ratios(roots, outputs);
  each_tile([&](bool predicated) {
    if (is_cluster()) return each_part(prefetches(), [&] { store_tile(roots, outputs, predicated); });
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
  const std::vector<std::size_t> next = is_cluster() && prefetches() ? held_loads() : std::vector<std::size_t>();
  moved.insert(moved.end(), next.begin(), next.end());
  open_vectors(moved, predicated);
  read_shared(loads);
  load_gathered_rows(roots, predicated);
  for (const std::size_t a : loads) {
    if (!schedule_.resident || !is_late(a) || is_iota(a)) continue;
    line("{} {}[{}];", storage(a), access_name(a), schedule_.vector);
    load_vector(a, predicated);
  }
  for (const std::size_t a : outputs) {
    line("{} {}[{}];", storage(a), access_name(a), schedule_.vector);
    if (rounds(a)) line("float {}_f32[{}];", access_name(a), schedule_.vector);
  }
  if (checks_quotients_) {
    std::string plain;
    for (const auto& [divisor, ratio] : ratios_) plain += (plain.empty() ? "" : " && ") + ratio + ".plain";
    line("bool plain = {};", plain);
  }
  if (!exponents_.empty()) line("float lowest = 0.0f;");
  divides_fast_ = true;
  store_elements(roots, outputs);
  divides_fast_ = false;
  if (!exponents_.empty()) check_exponents();
  if (checks_quotients_) {
    open("if (!plain)");
    store_elements(roots, outputs);
    close();
  }
  for (const std::size_t a : outputs) store_vector(a, predicated);
  if (part_ == Part::registers && !next.empty()) {
    open("if (more)");
    for (const std::size_t a : next) load_vector(a, predicated);
    close();
  }
  close();
  if (part_ == Part::shared && !next.empty()) copy_next(next, predicated);
}

/// One comparison per vector tells that nothing comes near the ends of the range; else each exponent is looked at: a
/// masked element, whose term is 0, is divided well.
void RowWriter::check_exponents() {
  open("if (lowest < -0x1.4cp+5f)");
  if (schedule_.vector > 1) unrolled("k", schedule_.vector);
  element_values(exponents_, [&](std::size_t a) { return element_place(a); });
  for (const NodeId exponent : exponents_) line("plain &= {}({});", prelude_.use("term_is_plain"), name(exponent));
  if (schedule_.vector > 1) close();
  close();
}

void RowWriter::store_elements(std::span<const NodeId> roots, std::span<const std::size_t> outputs) {
  if (schedule_.vector > 1) unrolled("k", schedule_.vector);
  element_values(roots, [&](std::size_t a) { return element_place(a); });
  for (const NodeId exponent : divides_fast_ ? exponents_ : std::vector<NodeId>())
    line("lowest = {}(lowest, {});", prelude_.use("minimum_f32"), name(exponent));
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
