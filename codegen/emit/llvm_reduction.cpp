// codegen/emit/llvm_reduction.cpp -- what a CPU kernel with reduced axes loads and computes, and in which order.
#include "codegen/emit/llvm_reduction.h"

#include <algorithm>

#include <fmt/format.h>

namespace kiln::codegen {

namespace {

bool is_function(const Node& node) {
  if (node.kind != NodeKind::operation) return false;
  return (node.op >= Op::rsqrt && node.op <= Op::tgamma) || node.op == Op::pow || node.op == Op::hypot ||
         node.op == Op::fmod;
}

/// Functions keep the arithmetic units busy by themselves; light bodies need several independent chains.
int choose_batch(const Kernel& kernel) {
  const Stages stages = stages_of(kernel);
  std::size_t widest = 1;
  int nodes = 0;
  bool heavy = false, long_join = false;
  const auto visit = [&](const Node& node) {
    widest = std::max(widest, size_of(real_of(node.type)));
    heavy = heavy || is_function(node);
    ++nodes;
  };
  for (NodeId id = 0; id < kernel.body.size(); ++id) {
    const Node& node = kernel.body[id];
    if (stages.per_element[id] != 0) visit(node);
    if (node.kind != NodeKind::reduce && node.kind != NodeKind::scan) continue;
    // The larger the batch, the fewer exponentials a logsumexp takes, and the fewer divisions a variance.
    const ReductionSpec& spec = kernel.body.reduction(node);
    long_join = long_join || spec.kind == Reduction::logsumexp || spec.kind == Reduction::squared_deviations;
    if (!spec.combiner || spec.kind == Reduction::logsumexp) continue;
    for (const Node& joined : spec.combiner->nodes()) visit(joined);
  }
  if (heavy || nodes > 60) return 1;
  return (widest > 4 ? 2 : 4) * (long_join ? 2 : 1);
}

}  // namespace

ReductionPrinter::ReductionPrinter(const Kernel& described, Template form, const EmitOptions& chosen)
    : KernelFrame(described, chosen),
      batch_(choose_batch(described)),
      stages_(stages_of(described)),
      form_(cpu_reduction(described, form)),
      body_(b, library, described.body, chosen.contract),
      reductions_(described.body.size()),
      values_(described.accesses.size()) {
  body_.set_memory(states);
  for (NodeId id = 0; id < kernel.body.size(); ++id) {
    const NodeKind kind = kernel.body[id].kind;
    if (kind == NodeKind::reduce || kind == NodeKind::scan)
      reductions_[id] = std::make_unique<ReductionState>(*this, id);
  }
}

std::vector<NodeId> ReductionPrinter::needed(const std::vector<NodeId>& roots,
                                             const std::function<bool(NodeId)>& available) const {
  std::vector<char> wanted(kernel.body.size(), 0);
  for (const NodeId root : roots) wanted[root] = 1;
  std::vector<NodeId> nodes;
  for (NodeId id = kernel.body.size(); id-- > 0;) {
    if (wanted[id] == 0 || available(id)) continue;
    nodes.push_back(id);
    for (const NodeId operand : kernel.body[id].inputs()) wanted[operand] = 1;
  }
  std::reverse(nodes.begin(), nodes.end());
  return nodes;
}

std::vector<NodeId> ReductionPrinter::outputs(bool of_elements) const {
  std::vector<NodeId> roots;
  for (std::size_t k = 0; k < kernel.body.outputs.size(); ++k) {
    if (is_store_per_element(k) == of_elements) roots.push_back(kernel.body.outputs[k]);
  }
  return roots;
}

std::vector<std::string> ReductionPrinter::base_addresses() const {
  std::vector<std::string> addresses;
  for (const AccessState& state : states) addresses.push_back(state.base);
  return addresses;
}

std::vector<std::string> ReductionPrinter::moved(const std::vector<std::string>& starts, std::size_t first,
                                                 const std::vector<std::string>& coordinates) {
  std::vector<std::string> addresses = starts;
  for (std::size_t a = 0; a < states.size(); ++a) {
    const Access& access = kernel.accesses[a];
    for (std::size_t k = 0; k < coordinates.size(); ++k) {
      if (access.axes[first + k] == AxisClass::broadcast) continue;
      const std::string step =
          b.emit_scalar(fmt::format("mul i64 {}, {}", coordinates[k], states[a].stride(first + k)));
      addresses[a] = b.emit_scalar(access.iota ? fmt::format("add i64 {}, {}", addresses[a], step)
                                               : fmt::format("getelementptr i8, ptr {}, i64 {}", addresses[a], step));
    }
  }
  return addresses;
}

void ReductionPrinter::set_rows(const std::vector<std::string>& addresses) {
  for (std::size_t a = 0; a < states.size(); ++a) states[a].row = addresses[a];
}

void ReductionPrinter::for_batches(const std::string& from, const std::string& to, int vectors,
                                   const std::function<void(const std::string& i)>& batch, const Vector& each) {
  const int step = vectors * b.width();
  const std::string whole = b.emit_scalar(fmt::format("sub i64 {}, {}", to, step - 1));
  const CountedLoop loop = begin_loop(b, from, whole, step);
  batch(loop.counter);
  end_loop(b, loop);
  for_vectors(loop.counter, to, each);
}

void ReductionPrinter::for_vectors(const std::string& from, const std::string& to, const Vector& each) {
  const std::string whole = b.emit_scalar(fmt::format("sub i64 {}, {}", to, b.width() - 1));
  const CountedLoop loop = begin_loop(b, from, whole, b.width());
  each(loop.counter, nullptr);
  end_loop(b, loop);
  const std::string left = b.emit_scalar(fmt::format("sub i64 {}, {}", to, loop.counter));
  const std::string block = begin_if(b, b.emit_scalar(fmt::format("icmp sgt i64 {}, 0", left)));
  const std::string count = b.emit_scalar(fmt::format("trunc i64 {} to i32", left));
  const IrValue mask = b.lane_numbers(Lane::i32) < b.splat(Lane::i32, count);
  body_.set_count(left);
  each(loop.counter, &mask);
  body_.set_count("");
  end_if(b, block);
}

void ReductionPrinter::for_pieces(const std::string& first, const std::string& last, std::int64_t step,
                                  const std::vector<NodeId>& joined, const Piece& piece,
                                  const std::function<void()>& settle) {
  if (std::none_of(joined.begin(), joined.end(), [&](NodeId id) { return state_of(id).is_running(); }))
    return piece(first, last);
  const CountedLoop pieces = begin_loop(b, first, last, step);
  piece(pieces.counter, scalar_least(b, scalar_add(b, pieces.counter, fmt::format("{}", step)), last));
  settle();
  end_loop(b, pieces);
}

void ReductionPrinter::store_outputs(bool of_elements, const std::string& i, const IrValue* mask) {
  for (std::size_t k = 0; k < kernel.body.outputs.size(); ++k) {
    if (is_store_per_element(k) == of_elements)
      store_vector(b, states[kernel.first_store() + k], i, body_.output(k, output_type(k)), mask ? mask->text : "");
  }
}

void ReductionPrinter::load_vectors(const std::vector<NodeId>& nodes, const std::string& i, const IrValue* mask) {
  for (const NodeId id : nodes) {
    const Node& node = kernel.body[id];
    if (node.kind != NodeKind::load && node.kind != NodeKind::iota) continue;
    const AccessState& state = states[node.payload];
    if (state.access->iota) {
      // Lanes past the end repeat the first: an iota stays in its range, on which divisions without guards rely.
      IrValue lanes = state.lane_offsets;
      if (mask && state.inner() != AxisClass::broadcast) lanes = b.select(*mask, lanes, b.bits(Lane::i64, 0));
      values_[node.payload] = {iota_vector(b, state, i, lanes)};
    } else if (state.inner() != AxisClass::broadcast) {
      values_[node.payload] = load_vector(b, state, i, mask ? mask->text : "");
    }
  }
}

void ReductionPrinter::load_broadcasts(const std::vector<NodeId>& nodes) {
  for (const NodeId id : nodes) {
    const Node& node = kernel.body[id];
    if (node.kind != NodeKind::load) continue;
    const AccessState& state = states[node.payload];
    if (state.inner() == AxisClass::broadcast) values_[node.payload] = load_broadcast(b, state);
  }
}

std::string ReductionPrinter::slot(const std::string& number, std::size_t component) {
  std::size_t before = 0;
  for (std::size_t c = 0; c < component; ++c) before += size_of(form_.components[c]);
  const std::string start = scalar_multiply(b, slots_, fmt::format("{}", before));
  const std::string offset =
      scalar_add(b, start, scalar_multiply(b, number, fmt::format("{}", size_of(form_.components[component]))));
  return b.emit_scalar(fmt::format("getelementptr i8, ptr {}, i64 {}", workspace, offset));
}

void ReductionPrinter::print_start() {
  b.line("%empty = icmp sge i64 %begin, %end");
  b.line("br i1 %empty, label %exit, label %start");
  b.label("start");
  print_arguments();
  print_lane_offsets();
}

std::string ReductionPrinter::finish(const std::string& entry) {
  b.line("br label %exit");
  b.label("exit");
  b.line("ret void");
  return module(entry);
}

std::string print_reduction(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options,
                            const std::string& entry) {
  return cpu_reduction(kernel, schedule.form).columns ? print_column_reduction(kernel, options, entry)
                                                      : print_row_reduction(kernel, options, entry);
}

}  // namespace kiln::codegen
