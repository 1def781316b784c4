// codegen/emit/cuda_reduction_state.cpp -- prints the state of the reductions of a pass and how states are joined.
#include <algorithm>
#include <utility>

#include "codegen/emit/cuda_reduction_parts.h"
#include "codegen/emit/cuda_types.h"

namespace kiln::codegen::cuda {
namespace {

/// Calls use(r, c, monoid, component, field) for every component of every reduction.
template <class F>
void each_component(std::span<const Monoid> monoids, F&& use) {
  for (std::size_t r = 0; r < monoids.size(); ++r) {
    for (std::size_t c = 0; c < monoids[r].components.size(); ++c)
      use(r, c, monoids[r].components[c], state_field(monoids[r], r, c));
  }
}

bool is_float_sum(const Monoid& monoid) {
  return monoid.kind == Reduction::sum && monoid.components.size() == 1 && is_floating(monoid.components[0].type);
}

bool is_f32_logsumexp(const Monoid& monoid) {
  return monoid.kind == Reduction::logsumexp && monoid.components.size() == 2 &&
         monoid.components[0].type == DType::f32;
}

/// Sums whose running state has a second part.
bool keeps_corrections(const Monoid& monoid) {
  return is_float_sum(monoid) || is_f32_logsumexp(monoid) || is_f32_deviations(monoid);
}

/// The maximum of a float and 1, in a form that compilers evaluate where both are known: joining single elements then
/// costs no division by their number. NaN propagates.
std::string folding_maximum(const Graph& graph, NodeId id, const std::vector<std::string>& names) {
  const Node& node = graph[id];
  if (node.kind != NodeKind::operation || node.op != Op::maximum || !is_floating(node.type)) return "";
  const Node& bound = graph[node.operands[1]];
  const std::uint64_t one = node.type == DType::f32 ? 0x3f800000u : 0x3ff0000000000000u;
  if (bound.kind != NodeKind::literal || bound.payload != one) return "";
  return fmt::format("{0} < {1} ? {1} : {0}", names[node.operands[0]], names[node.operands[1]]);
}

/// The intrinsics know four and eight bytes.
std::string shuffled(DType type, const std::string& field) {
  if (size_of(type) >= 4) return fmt::format("__shfl_xor_sync(~0u, s.{}, mask)", field);
  const std::string wide = fmt::format("__shfl_xor_sync(~0u, i32(s.{}), mask)", field);
  return type == DType::b1 ? wide + " != 0" : fmt::format("{}({})", value_type(type), wide);
}

}  // namespace

void ReductionWriter::declare_state(const std::string& type, std::span<const Monoid> monoids, bool shuffles,
                                    Running running) {
  std::string kernel_text = std::exchange(text_, {});
  const int indent = std::exchange(indent_, 0);
  open(fmt::format("struct alignas(8) {}", type));
  const bool symmetric = std::all_of(monoids.begin(), monoids.end(), [](const Monoid& monoid) {
    return is_plain(monoid.kind) || is_f32_logsumexp(monoid);
  });
  line("static constexpr bool symmetric = {};", symmetric);
  // Whole states are stored and read word by word: what no component fills is written too.
  std::size_t bytes = 0;
  int gaps = 0;
  const auto fill = [&](std::size_t alignment) {
    for (const DType piece : state_gap(bytes, alignment)) line("{} unused{};", value_type(piece), gaps++);
  };
  each_component(monoids, [&](std::size_t, std::size_t, const StateComponent& component, const std::string& field) {
    fill(size_of(component.type));
    line("{} {};", value_type(component.type), field);
    bytes += size_of(component.type);
  });
  fill(8);
  --indent_;
  line("}};");
  print_join(type, monoids);
  if (shuffles) print_shuffle(type, monoids);
  if (running == Running::batches) print_accumulate(type, monoids);
  if (running != Running::none) print_total(type, monoids);
  print_tree(type, monoids);
  definitions_ += text_ + "\n";
  text_ = std::move(kernel_text);
  indent_ = indent;
}

/// Folds log2(e) into the exponent, and one comparison keeps inf - inf from arising.
void ReductionWriter::print_join(const std::string& type, std::span<const Monoid> monoids) {
  open(fmt::format("DEVICE {0} join(const {0}& a, const {0}& b)", type));
  line("{0} r = {0}();", type);
  for (std::size_t r = 0; r < monoids.size(); ++r) {
    const Monoid& monoid = monoids[r];
    if (is_f32_logsumexp(monoid)) {
      line("join_logsumexp(r.s{0}_0, r.s{0}_1, a.s{0}_0, a.s{0}_1, b.s{0}_0, b.s{0}_1);", r);
      prelude_.use("join_logsumexp");
      continue;
    }
    if (is_f32_deviations(monoid)) {
      line("{1}(r.s{0}_0, r.s{0}_1, r.s{0}_2, a.s{0}_0, a.s{0}_1, a.s{0}_2, b.s{0}_0, b.s{0}_1, b.s{0}_2);", r,
           prelude_.use("join_deviations"));
      continue;
    }
    const Graph& graph = monoid.combine;
    const std::size_t k = monoid.components.size();
    std::vector<std::string> names(graph.size());
    int next = 0;
    for (NodeId id = 0; id < graph.size(); ++id) {
      if (graph[id].kind == NodeKind::input) {
        const auto slot = static_cast<std::size_t>(graph[id].payload);
        names[id] = fmt::format("{}.{}", slot < k ? "a" : "b", state_field(monoid, r, slot % k));
      } else if (const std::string text = folding_maximum(graph, id, names); !text.empty()) {
        names[id] = fmt::format("j{}_{}", r, next++);
        line("const {} {} = {};", value_type(graph[id].type), names[id], text);
      } else if (name_node(graph, id, names, fmt::format("j{}_{}", r, next), {})) {
        ++next;
      }
    }
    for (std::size_t c = 0; c < k; ++c) line("r.{} = {};", state_field(monoid, r, c), names[graph.outputs[c]]);
  }
  line("return r;");
  close();
}

void ReductionWriter::print_shuffle(const std::string& type, std::span<const Monoid> monoids) {
  open(fmt::format("DEVICE {0} shuffle(const {0}& s, int mask)", type));
  line("{0} r = {0}();", type);
  each_component(monoids, [&](std::size_t, std::size_t, const StateComponent& component, const std::string& field) {
    line("r.{} = {};", field, shuffled(component.type, field));
  });
  line("return r;");
  close();
}

/// Across batches, sums keep what rounding loses, apart and added at the end. Of a log-sum-exp, `low` also holds what
/// its exponents are relative to.
void ReductionWriter::print_accumulate(const std::string& type, std::span<const Monoid> monoids) {
  const bool corrects = std::any_of(monoids.begin(), monoids.end(), keeps_corrections);
  const bool joins = std::any_of(monoids.begin(), monoids.end(), [](const Monoid& monoid) {
    return !is_f32_logsumexp(monoid) && !is_f32_deviations(monoid);
  });
  open(fmt::format("DEVICE void accumulate({0}& s, {0}&{1}, const {0}& batch)", type, corrects ? " low" : ""));
  line("{}{} r = {};", corrects ? "" : "const ", type, joins ? "join(s, batch)" : "s");
  for (std::size_t r = 0; r < monoids.size(); ++r) {
    if (is_f32_logsumexp(monoids[r])) {
      if (joins) line("r.s{0}_0 = s.s{0}_0, r.s{0}_1 = s.s{0}_1;", r);
      line("{1}(r.s{0}_0, r.s{0}_1, low.s{0}_0, low.s{0}_1, batch.s{0}_0, batch.s{0}_1);", r,
           prelude_.use("accumulate_logsumexp"));
    } else if (is_f32_deviations(monoids[r])) {
      if (joins) line("r.s{0}_0 = s.s{0}_0, r.s{0}_1 = s.s{0}_1, r.s{0}_2 = s.s{0}_2;", r);
      line("{0}(r.s{1}_0, r.s{1}_1, r.s{1}_2, low.s{1}_1, low.s{1}_2, batch.s{1}_0,",
           prelude_.use("accumulate_deviations"), r);
      line("    batch.s{0}_1, batch.s{0}_2);", r);
    } else if (is_float_sum(monoids[r])) {
      line("r.{0} = {1}(s.{0}, batch.{0}, low.{0});", state_field(monoids[r], r, 0), prelude_.use("two_sum"));
    }
  }
  line("s = r;");
  close();
}

void ReductionWriter::print_total(const std::string& type, std::span<const Monoid> monoids) {
  const bool corrects = std::any_of(monoids.begin(), monoids.end(), keeps_corrections);
  open(fmt::format("DEVICE {0} total(const {0}& s, const {0}&{1})", type, corrects ? " low" : ""));
  if (corrects) line("{} r = s;", type);
  for (std::size_t r = 0; r < monoids.size(); ++r) {
    const auto add_low = [&](std::size_t c) {
      line("r.{0} = {1}(s.{0}, low.{0});", state_field(monoids[r], r, c), prelude_.use("add_low"));
    };
    if (is_f32_logsumexp(monoids[r])) {
      line("r.s{0}_1 = {1}(s.s{0}_0, s.s{0}_1, low.s{0}_0, low.s{0}_1);", r, prelude_.use("total_logsumexp"));
    } else if (is_f32_deviations(monoids[r])) {
      add_low(1);
      add_low(2);
    } else if (is_float_sum(monoids[r])) {
      add_low(0);
    }
  }
  line("return {};", corrects ? "r" : "s");
  close();
}

std::string ReductionWriter::nothing_lost(std::size_t pass) const {
  const bool has_base = std::any_of(monoids_[pass].begin(), monoids_[pass].end(), is_f32_logsumexp);
  return has_base ? identity(pass) : state_type(pass) + "()";  // a base of -inf is below all
}

/// Of a batch, a log-sum-exp takes the maximum first and then one exponential per element; squared deviations take the
/// mean first and then no division per element.
void ReductionWriter::print_tree(const std::string& type, std::span<const Monoid> monoids) {
  const auto is_special = [](const Monoid& monoid) { return is_f32_logsumexp(monoid) || is_f32_deviations(monoid); };
  if (std::none_of(monoids.begin(), monoids.end(), is_special)) return;
  line("template <int N>");
  open(fmt::format("DEVICE {0} tree({0} (&s)[N])", type));
  std::string results;
  for (std::size_t r = 0; r < monoids.size(); ++r) {
    if (!is_special(monoids[r])) continue;
    std::string declared, copied, passed;
    for (std::size_t c = 0; c < monoids[r].components.size(); ++c) {
      const std::string separator = c > 0 ? ", " : "", local = fmt::format("c{}_{}", r, c);
      declared += fmt::format("{}{}[N]", separator, local);
      copied += fmt::format("{}{}[k] = s[k].s{}_{}", separator, local, r, c);
      passed += separator + local;
      results += fmt::format("{0}t.s{1}_{2} = {3}[0]", results.empty() ? "" : ", ", r, c, local);
    }
    line("float {};", declared);
    text_ += "#pragma unroll\n";
    line("for (int k = 0; k < N; ++k) {};", copied);
    line("{}({});", prelude_.use(is_f32_logsumexp(monoids[r]) ? "tree_logsumexp" : "tree_deviations"), passed);
  }
  line("{0} t = {1}<{0}, N>(s);", type, prelude_.use("tree"));
  line("{};", results);
  line("return t;");
  close();
}

}  // namespace kiln::codegen::cuda
