// codegen/emit/cuda_reduction_parts.cpp -- levels of values in a body with reductions, and the names they get.
#include "codegen/emit/cuda_reduction_parts.h"

#include "codegen/emit/cuda_types.h"
#include "support/check.h"

namespace kiln::codegen::cuda {
namespace {

/// A component of what a scan of tuples gives.
bool is_of_scan(const Graph& graph, const Node& node) {
  return node.kind == NodeKind::element && graph[node.operands[0]].kind == NodeKind::scan;
}

/// Initialisers of what fills the state up to the alignment of the next component, or of the whole state.
std::string skipped(std::size_t& bytes, std::size_t alignment) {
  std::string text;
  for (std::size_t pieces = state_gap(bytes, alignment).size(); pieces > 0; --pieces) text += ", 0";
  return text;
}

}  // namespace

std::string state_field(const Monoid& monoid, std::size_t r, std::size_t c) {
  return monoid.components.size() == 1 ? fmt::format("s{}", r) : fmt::format("s{}_{}", r, c);
}

ReductionWriter::ReductionWriter(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options)
    : Writer(kernel, schedule, options), stages_(stages_of(kernel)) {
  for (const auto& pass : stages_.passes) {
    monoids_.emplace_back();
    for (const NodeId node : pass) monoids_.back().push_back(monoid_of(kernel.body, node));
  }
  names_.resize(kernel.body.size());
  locals_.resize(kernel.body.size());
  int next = 0;
  for (NodeId id = 0; id < kernel.body.size(); ++id) {
    switch (kernel.body[id].kind) {
      case NodeKind::load:
      case NodeKind::iota:
      case NodeKind::literal:
      case NodeKind::parameter:
      case NodeKind::tuple:
      case NodeKind::element:
      case NodeKind::reduce:
      case NodeKind::scan:
        break;
      default:
        locals_[id] = fmt::format("v{}", next++);
    }
  }
}

void ReductionWriter::declare_states(bool shuffles, Running running) {
  for (std::size_t pass = 0; pass < monoids_.size(); ++pass)
    declare_state(state_type(pass), monoids_[pass], shuffles, running);
}

std::string ReductionWriter::rows_text() const {
  const int kept = kernel_.rank - kernel_.reduced;
  std::string rows = kept > 0 ? extent(0) : "1u";
  for (int axis = 1; axis < kept; ++axis) rows += " * " + extent(static_cast<std::size_t>(axis));
  return rows;
}

void ReductionWriter::declare_block(int divisor) {
  if (!schedule_.layers) return;
  line("const u64 block = (u64(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;");
  if (divisor == 1) line("if (block >= {}) return;", rows_text());
  if (divisor > 1) line("if (block / {}u >= {}) return;", divisor, rows_text());
}

std::vector<NodeId> ReductionWriter::operands(std::size_t pass) const {
  std::vector<NodeId> nodes;
  for (const Monoid& monoid : monoids_[pass]) {
    for (const StateComponent& component : monoid.components) nodes.push_back(component.value);
  }
  return nodes;
}

std::vector<DType> state_gap(std::size_t& bytes, std::size_t alignment) {
  std::vector<DType> pieces;
  while (bytes % alignment != 0) {
    pieces.push_back(bytes % 2 != 0 ? DType::u8 : bytes % 4 != 0 ? DType::u16 : DType::u32);
    bytes += size_of(pieces.back());
  }
  return pieces;
}

bool is_f32_deviations(const Monoid& monoid) {
  return monoid.kind == Reduction::squared_deviations && monoid.components.size() == 3 &&
         monoid.components[0].type == DType::f32;
}

std::vector<NodeId> ReductionWriter::batch_operands(std::size_t pass, int size) const {
  std::vector<NodeId> nodes;
  for (const Monoid& monoid : monoids_[pass]) {
    for (std::size_t c = 0; c < monoid.components.size(); ++c) {
      if (size < 2 || c < 2 || !is_f32_deviations(monoid)) nodes.push_back(monoid.components[c].value);
    }
  }
  return nodes;
}

std::vector<std::size_t> ReductionWriter::stores(bool per_element) const {
  std::vector<std::size_t> result;
  for (std::size_t a = kernel_.first_store(); a < kernel_.accesses.size(); ++a) {
    if (is_per_element(kernel_, kernel_.accesses[a]) == per_element) result.push_back(a);
  }
  return result;
}

NodeId ReductionWriter::stored_value(std::size_t a) const {
  const NodeId output = kernel_.body.outputs[a - kernel_.first_store()];
  return rounds(a) ? kernel_.body[output].operands[0] : output;
}

/// Nodes that `roots` need and that have no name which stays: results of reductions end the search.
std::vector<char> ReductionWriter::below(std::span<const NodeId> roots) const {
  const Graph& graph = kernel_.body;
  std::vector<char> needed(graph.size(), 0);
  for (const NodeId root : roots) needed[root] = 1;
  for (NodeId id = graph.size(); id-- > 0;) {
    if (!needed[id]) continue;
    if (!stages_.per_element[id] && !names_[id].empty()) {
      needed[id] = 0;
      continue;
    }
    const Node& node = graph[id];
    if (is_of_scan(graph, node)) {
      needed[node.operands[0]] = 1;
      continue;
    }
    KILN_INTERNAL_CHECK(node.kind != NodeKind::reduce && node.kind != NodeKind::element,
                        "%{} is used before its pass is done", id);
    if (node.kind == NodeKind::scan && !names_[id].empty()) continue;
    for (const NodeId operand : node.inputs()) needed[operand] = 1;
  }
  return needed;
}

void ReductionWriter::row_values(std::span<const NodeId> roots, const Place& place) {
  const std::vector<char> needed = below(roots);
  for (NodeId id = 0; id < kernel_.body.size(); ++id) {
    if (needed[id] && !stages_.per_element[id] && kernel_.body[id].kind != NodeKind::tuple)
      name_node(kernel_.body, id, names_, locals_[id], place);
  }
}

void ReductionWriter::element_values(std::span<const NodeId> roots, const Place& place) {
  const std::vector<char> needed = below(roots);
  for (NodeId id = 0; id < kernel_.body.size(); ++id) {
    const Node& node = kernel_.body[id];
    if (!needed[id] || node.kind == NodeKind::tuple || node.kind == NodeKind::scan) continue;
    if (is_of_scan(kernel_.body, node)) continue;
    KILN_INTERNAL_CHECK(stages_.per_element[id], "%{} belongs to the row and was not declared", id);
    if (const std::string text = special_text(id); !text.empty()) {
      line("const {} {} = {};", value_type(kernel_.body[id].type), locals_[id], text);
      names_[id] = locals_[id];
      continue;
    }
    name_node(kernel_.body, id, names_, locals_[id], place);
  }
}

std::string ReductionWriter::element_state(std::size_t pass, int batch) const {
  std::string text;
  std::size_t bytes = 0;
  for (const Monoid& monoid : monoids_[pass]) {
    for (std::size_t c = 0; c < monoid.components.size(); ++c) {
      const bool found_later = batch > 1 && c == 2 && is_f32_deviations(monoid);
      text += skipped(bytes, size_of(monoid.components[c].type));
      bytes += size_of(monoid.components[c].type);
      text += (text.empty() ? "" : ", ") +
              (found_later ? literal(DType::f32, 0x80000000u) : names_[monoid.components[c].value]);
    }
  }
  return fmt::format("{}{{{}{}}}", state_type(pass), text, skipped(bytes, 8));
}

std::string ReductionWriter::identity(std::size_t pass) const {
  std::string text;
  std::size_t bytes = 0;
  for (const Monoid& monoid : monoids_[pass]) {
    for (const StateComponent& component : monoid.components) {
      text += skipped(bytes, size_of(component.type));
      bytes += size_of(component.type);
      if (!text.empty()) text += ", ";
      text +=
          component.identity == no_node ? literal(component.type, component.identity_bits) : names_[component.identity];
    }
  }
  return fmt::format("{}{{{}{}}}", state_type(pass), text, skipped(bytes, 8));
}

void ReductionWriter::name_results(std::size_t pass, const std::string& variable) {
  const Graph& graph = kernel_.body;
  constexpr std::size_t none = ~std::size_t{0};
  std::vector<std::size_t> position(graph.size(), none);  // of the reductions of this pass
  for (std::size_t r = 0; r < monoids_[pass].size(); ++r) {
    const NodeId reduction = stages_.passes[pass][r];
    position[reduction] = r;
    names_[reduction] = fmt::format("{}.{}", variable, state_field(monoids_[pass][r], r, 0));
  }
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].kind != NodeKind::element || position[graph[id].operands[0]] == none) continue;
    const std::size_t r = position[graph[id].operands[0]];
    names_[id] = fmt::format("{}.{}", variable, state_field(monoids_[pass][r], r, graph[id].payload));
  }
}

}  // namespace kiln::codegen::cuda
