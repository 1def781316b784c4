// codegen/emit/cuda_row_logsumexp.cpp -- log-sum-exp of a row in steps: the maximum of a step first, then one
// exponential per element and none per join.
#include "codegen/emit/cuda_row_reduction.h"
#include "codegen/emit/cuda_types.h"

namespace kiln::codegen::cuda {

/// True where a step computes a log-sum-exp in f32 and nothing else, of values that are cheap to have twice.
bool RowWriter::sums_exponentials(std::size_t pass) const {
  if ((schedule_.resident && !is_cluster()) || monoids_[pass].size() != 1) return false;
  const Monoid& monoid = monoids_[pass][0];
  if (monoid.kind != Reduction::logsumexp || monoid.components.size() != 2) return false;
  const Node& value = kernel_.body[monoid.components[0].value];
  const Node& count = kernel_.body[monoid.components[1].value];
  const bool is_one = count.kind == NodeKind::literal && count.payload == 0x3f800000u;
  const bool is_load = value.kind == NodeKind::load ||
                       (value.kind == NodeKind::cast && kernel_.body[value.operands[0]].kind == NodeKind::load);
  return value.type == DType::f32 && is_one && is_load;
}

void RowWriter::logsumexp_tile(std::size_t pass, bool predicated) {
  const NodeId value = monoids_[pass][0].components[0].value;
  const std::vector<NodeId> roots = {value};
  const bool by_element = has_partial_vectors(predicated);
  const std::vector<std::size_t> loads = loads_below(roots);
  const auto [first, end] = vectors();
  const std::string k = schedule_.vector > 1 ? "k" : "0";
  const std::string u = first > 0 ? fmt::format("u - {}", first) : schedule_.items > 1 ? "u" : "0";
  const std::string packed = packed_maximum(value);
  line("float highest = s{}.s0_0;", pass);
  open_vectors({}, predicated);
  read_shared(loads);
  if (!packed.empty()) {
    const std::string inside = by_element ? is_full() : fmt::format("j < {}", length());
    line("{}highest = {}(highest, {});", predicated ? fmt::format("if ({}) ", inside) : "", prelude_.use("maximum_f32"),
         packed);
  }
  if (packed.empty() || by_element) {
    if (!packed.empty()) open(fmt::format("if (!({}))", is_full()));
    if (schedule_.vector > 1) unrolled("k", schedule_.vector);
    element_values(roots, [&](std::size_t a) { return element_place(a); });
    const std::string at = schedule_.vector > 1 && by_element ? "j + k" : "j";
    line("{}highest = {}(highest, {});", predicated ? fmt::format("if ({} < {}) ", at, length()) : "",
         prelude_.use("maximum_f32"), name(value));
    if (schedule_.vector > 1) close();
    if (!packed.empty()) close();
  }
  close();
  line("const float next = {}(low{}.s0_0, highest);", prelude_.use("raised_base"), pass);
  line("const float base = {}(next);", prelude_.use("exponential_base"));
  line("float sums[{}];", end - first);
  ++stage_;  // values are unpacked again: kept from the first loop, they would take twice the registers
  open_vectors({}, predicated);
  read_shared(loads);
  line("float e[{}];", schedule_.vector);
  if (schedule_.vector > 1) unrolled("k", schedule_.vector);
  element_values(roots, [&](std::size_t a) { return element_place(a); });
  line("e[{}] = {}(({} - base) * 0x1.715476p+0f);", k, prelude_.use("exp2_approximate"), name(value));
  if (schedule_.vector > 1) close();
  if (by_element) line("if (!({})) {}(e, 0.0f, j, {});", is_full(), prelude_.use("keep_between"), length());
  line("sums[{}] = {}(e);", u, prelude_.use("sum_of"));
  if (predicated && !by_element) line("if (j >= {}) sums[{}] = 0.0f;", length(), u);
  close();
  --stage_;
  line("{0}(s{1}.s0_1, low{1}.s0_1, low{1}.s0_0, next, sum_of(sums));", prelude_.use("add_exponentials"), pass);
  line("s{}.s0_0 = highest;", pass);
}

void RowWriter::cluster_logsumexp(std::size_t pass, bool predicated) {
  line("{{");
  ++indent_;
  logsumexp_tile(pass, predicated);
  close();
}

}  // namespace kiln::codegen::cuda
