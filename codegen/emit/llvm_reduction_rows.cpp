// codegen/emit/llvm_reduction_rows.cpp -- CPU kernels that reduce or scan along the axis their vectors run along.
//
// A unit is a row, or a chunk of one. Vectors keep one state per lane; a fixed tree joins the lanes at the end of the
// row. Chunks leave their states in the workspace, and the finish run joins those of a row in order.
#include <algorithm>

#include <fmt/format.h>

#include "codegen/emit/llvm_column_buffers.h"
#include "codegen/emit/llvm_reduction.h"

namespace kiln::codegen {
namespace {

using Variables = std::vector<std::string>;  ///< addresses, one per component of a state

class RowPrinter : ReductionPrinter {
 public:
  RowPrinter(const Kernel& described, const EmitOptions& chosen)
      : ReductionPrinter(described, Template::row_reduction, chosen) {}
  std::string print(const std::string& entry);

 private:
  /// Part of a row that a unit joins.
  struct Range {
    std::string first_line = "0", last_line, first, last;
  };
  void print_chunks();
  void print_units();
  void print_finish();
  void print_finish_of_scans();
  void join_chunks(const std::string& first, const std::string& end, const std::vector<NodeId>& pass);
  void print_row_level(int depth);
  void print_identities(const std::vector<NodeId>& pass);
  void print_pass(const std::vector<NodeId>& pass, const Range& range);
  void print_split(const std::vector<NodeId>& pass, const Range& range, const CarryLoop& units);
  void for_lines(const Range& range, const std::vector<NodeId>& nodes, const std::function<void()>& line);
  void for_pieces(const Range& range, const std::vector<NodeId>& joined, const Piece& piece);
  void accumulate(const std::vector<NodeId>& pass, const std::vector<std::vector<Parts>>& elements,
                  const IrValue* mask);
  void print_results(const std::vector<NodeId>& pass);
  void print_element_outputs(const Range& range);
  void print_scan(NodeId id);
  void print_row_outputs();
  Parts load(const ReductionState& state, const Variables& variables) {
    return load_variables(b, state.lanes(), variables);
  }
  void store(const Parts& parts, const Variables& variables) { store_variables(b, parts, variables); }
  Range range_of(const std::vector<std::string>& coordinates);
  void store_slots(const std::string& number, const std::vector<NodeId>& pass, bool in_order);
  bool scans_in_order() const;
  void print_totals_in_order(const Range& range);
  void join_slots(const std::string& number, const std::vector<NodeId>& pass);
  Variables& variables_of(NodeId id);

  std::vector<std::string> row_;         ///< base addresses of the row
  std::vector<Variables> accumulators_;  ///< by node
  std::string lines_, inner_;
  // Kernels whose rows split into chunks:
  std::string chunk_, lines_per_chunk_, groups_, blocks_, chunks_;
};

Variables& RowPrinter::variables_of(NodeId id) {
  accumulators_.resize(kernel.body.size());
  Variables& variables = accumulators_[id];
  if (variables.empty()) {
    for (const Lane lane : state_of(id).lanes()) variables.push_back(variable(b.type(lane)));
  }
  return variables;
}

/// The same numbers as cpu_reduction_shape.
void RowPrinter::print_chunks() {
  inner_ = extents.back();
  lines_ = product_of(b, {extents.begin() + static_cast<std::ptrdiff_t>(kept()), extents.end() - 1});
  if (!form_.splits) return;
  const std::vector<std::string> kept_extents(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(kept()));
  const std::string rows = product_of(b, kept_extents);
  chunk_ = fmt::format("{}", cpu_chunk_elements);
  if (!stages_.scans.empty()) {
    const std::string even = ceil_divide(b, inner_, fmt::format("{}", cpu_scan_chunks));
    const std::string many = b.emit_scalar(fmt::format("icmp sge i64 {}, {}", rows, cpu_scan_rows));
    const std::string length = scalar_greatest(b, even, chunk_);
    chunk_ = b.emit_scalar(fmt::format("select i1 {}, i64 {}, i64 {}", many, scalar_greatest(b, inner_, "1"), length));
  }
  blocks_ = scalar_greatest(b, ceil_divide(b, inner_, chunk_), "1");
  const std::string fitting = b.emit_scalar(fmt::format("udiv i64 {}, {}", chunk_, scalar_greatest(b, inner_, "1")));
  lines_per_chunk_ = scalar_greatest(b, fitting, "1");
  groups_ = scalar_greatest(b, ceil_divide(b, lines_, lines_per_chunk_), "1");
  chunks_ = scalar_multiply(b, groups_, blocks_);
  slots_ = scalar_multiply(b, rows, chunks_);
}

RowPrinter::Range RowPrinter::range_of(const std::vector<std::string>& coordinates) {
  Range range{"0", lines_, "0", inner_};
  if (!form_.splits) return range;
  const std::string& block = coordinates.back();
  const std::string& group = coordinates[coordinates.size() - 2];
  range.first_line = scalar_multiply(b, group, lines_per_chunk_);
  range.last_line = scalar_least(b, scalar_add(b, range.first_line, lines_per_chunk_), lines_);
  range.first = scalar_multiply(b, block, chunk_);
  range.last = scalar_least(b, scalar_add(b, range.first, chunk_), inner_);
  return range;
}

/// Leaves the states of a chunk in the workspace: joined over the lanes, unless `in_order` every lane holds the whole.
void RowPrinter::store_slots(const std::string& number, const std::vector<NodeId>& pass, bool in_order) {
  std::size_t component = 0;
  for (const NodeId id : pass) {
    const Parts lanes = load(state_of(id), variables_of(id));
    for (const IrValue& part : in_order ? lanes : state_of(id).join_lanes(lanes)) {
      const Lane lane = storage_lane(form_.components[component]);
      const IrValue stored = part.lane == lane ? part : b.convert("zext", part, lane);
      const std::string scalar = b.emit_scalar(fmt::format("extractelement {} {}, i32 0", b.type(lane), stored.text));
      b.line(fmt::format("store {} {}, ptr {}, align 1", name_of(lane), scalar, slot(number, component++)));
    }
  }
}

void RowPrinter::join_slots(const std::string& number, const std::vector<NodeId>& pass) {
  std::size_t component = 0;
  for (const NodeId id : pass) {
    Parts chunk;
    for (const Lane computed : state_of(id).lanes()) {
      const Lane lane = storage_lane(form_.components[component]);
      const std::string scalar =
          b.emit_scalar(fmt::format("load {}, ptr {}, align 1", name_of(lane), slot(number, component++)));
      const IrValue part = b.splat(lane, scalar);
      chunk.push_back(lane == computed ? part : b.compare("icmp ne", part, b.bits(lane, 0)));
    }
    store(state_of(id).settled(state_of(id).join(load(state_of(id), variables_of(id)), chunk)), variables_of(id));
  }
}

/// The states of the slots [first, end), joined in order, in every lane of the variables.
void RowPrinter::join_chunks(const std::string& first, const std::string& end, const std::vector<NodeId>& pass) {
  print_identities(pass);
  const CountedLoop chunks = begin_loop(b, first, end);
  join_slots(chunks.counter, pass);
  end_loop(b, chunks);
}

void RowPrinter::print_row_level(int depth) {
  std::vector<NodeId> nodes;
  for (NodeId id = 0; id < kernel.body.size(); ++id) {
    if (!per_element(id) && stages_.depth[id] == depth && kernel.body[id].kind != NodeKind::reduce) nodes.push_back(id);
  }
  set_rows(row_);
  load_broadcasts(nodes);
  load_vectors(nodes, "0", nullptr);  // iotas that do not change along the row
  compute(nodes);
}

/// Runs `line` for every line of the range, with its addresses set and what its vectors share loaded.
void RowPrinter::for_lines(const Range& range, const std::vector<NodeId>& nodes, const std::function<void()>& line) {
  const auto print_line = [&](const std::vector<std::string>& addresses) {
    set_rows(addresses);
    load_broadcasts(nodes);
    line();
  };
  if (kernel.reduced == 1) {
    print_line(row_);
    return;
  }
  const std::vector<std::string> outer(extents.begin() + static_cast<std::ptrdiff_t>(kept()), extents.end() - 1);
  const CarryLoop lines = begin_carry_loop(b, outer, range.first_line, range.last_line);
  print_line(moved(row_, kept(), lines.coordinates));
  end_carry_loop(b, lines);
}

/// Chunks of a row are short enough.
void RowPrinter::for_pieces(const Range& range, const std::vector<NodeId>& joined, const Piece& piece) {
  if (form_.splits && stages_.scans.empty() && kernel.reduced == 1) return piece(range.first, range.last);
  ReductionPrinter::for_pieces(range.first, range.last, cpu_settling_elements, joined, piece, [&] {
    for (const NodeId id : joined) store(state_of(id).settled(load(state_of(id), variables_of(id))), variables_of(id));
  });
}

/// `elements`: per reduction of the pass, the states of a batch of vectors.
void RowPrinter::accumulate(const std::vector<NodeId>& pass, const std::vector<std::vector<Parts>>& elements,
                            const IrValue* mask) {
  for (std::size_t k = 0; k < pass.size(); ++k) {
    ReductionState& state = state_of(pass[k]);
    const Parts before = load(state, variables_of(pass[k]));
    Parts after = state.accumulate(before, elements[k]);
    for (std::size_t c = 0; mask && c < after.size(); ++c) after[c] = b.select(*mask, after[c], before[c]);
    store(after, variables_of(pass[k]));
  }
}

void RowPrinter::print_identities(const std::vector<NodeId>& pass) {
  for (const NodeId id : pass) store(state_of(id).identity(body_), variables_of(id));
}

void RowPrinter::print_pass(const std::vector<NodeId>& pass, const Range& range) {
  print_identities(pass);
  std::vector<NodeId> roots;
  for (const NodeId id : pass) {
    for (const NodeId operand : state_of(id).operands()) roots.push_back(operand);
  }
  const std::vector<NodeId> nodes = needed(roots, [&](NodeId id) { return !per_element(id); });
  std::vector<std::vector<Parts>> elements(pass.size());
  const auto add_vector = [&](const std::string& i, const IrValue* mask) {
    load_vectors(nodes, i, mask);
    compute(nodes);
    for (std::size_t k = 0; k < pass.size(); ++k) elements[k].push_back(state_of(pass[k]).element(body_));
  };
  const auto finish_batch = [&](const IrValue* mask) {
    accumulate(pass, elements, mask);
    for (auto& states_of_batch : elements) states_of_batch.clear();
  };
  const auto one = [&](const std::string& i, const IrValue* mask) {
    add_vector(i, mask);
    finish_batch(mask);
  };
  const auto several = [&](const std::string& i) {
    for (int v = 0; v < batch_; ++v) add_vector(scalar_add(b, i, fmt::format("{}", v * b.width())), nullptr);
    finish_batch(nullptr);
  };
  const auto piece = [&](const std::string& first, const std::string& last) {
    if (batch_ > 1) {
      for_batches(first, last, batch_, several, one);
    } else {
      for_vectors(first, last, one);
    }
  };
  for_lines(range, nodes, [&] { for_pieces(range, pass, piece); });
}

void RowPrinter::print_results(const std::vector<NodeId>& pass) {
  for (const NodeId id : pass) {
    ReductionState& state = state_of(id);
    body_.set_value(id, state.result(state.join_lanes(load(state, variables_of(id)))));
  }
}

/// The scan's value at the current vector, and the state that the next vector continues from.
void RowPrinter::print_scan(NodeId id) {
  ReductionState& state = state_of(id);
  const Variables& carry = variables_of(id);
  const Parts before = load(state, carry);
  const Parts prefixes = state.prefixes(state.element(body_), state.identity(body_));
  body_.set_value(id, state.result(state.absorb(before, prefixes)));
  store(state.absorb(before, state.last_lane(prefixes)), carry);
}

/// Scans continue from the states in their variables.
void RowPrinter::print_element_outputs(const Range& range) {
  const std::vector<NodeId> nodes = needed(outputs(true), [&](NodeId id) { return !per_element(id); });
  const auto vector = [&](const std::string& i, const IrValue* mask) {
    load_vectors(nodes, i, mask);
    compute({});  // one call for all, so that products are fused here as they are in the passes
    for (const NodeId id : nodes) {
      if (kernel.body[id].kind == NodeKind::scan) {
        print_scan(id);
      } else {
        compute({id}, true);
      }
    }
    store_outputs(true, i, mask);
  };
  const Piece piece = [&](const std::string& first, const std::string& last) { for_vectors(first, last, vector); };
  for_lines(range, nodes, [&] { for_pieces(range, stages_.scans, piece); });
}

void RowPrinter::print_row_outputs() {
  set_rows(row_);
  for (std::size_t k = 0; k < kernel.body.outputs.size(); ++k) {
    if (!is_store_per_element(k))
      store_first_lane(b, states[kernel.first_store() + k], body_.output(k, output_type(k)));
  }
}

/// The function of a user's scan need not be commutative.
bool RowPrinter::scans_in_order() const {
  return std::any_of(stages_.scans.begin(), stages_.scans.end(),
                     [&](NodeId id) { return kernel.body.reduction(kernel.body[id]).kind == Reduction::combine; });
}

void RowPrinter::print_totals_in_order(const Range& range) {
  print_identities(stages_.scans);
  std::vector<NodeId> roots;
  for (const NodeId id : stages_.scans) {
    for (const NodeId operand : state_of(id).operands()) roots.push_back(operand);
  }
  const std::vector<NodeId> nodes = needed(roots, [&](NodeId id) { return !per_element(id); });
  for_lines(range, nodes, [&] {
    for_vectors(range.first, range.last, [&](const std::string& i, const IrValue* mask) {
      load_vectors(nodes, i, mask);
      compute(nodes);
      for (const NodeId id : stages_.scans) {
        ReductionState& state = state_of(id);
        const Parts identity = state.identity(body_);
        Parts element = state.element(body_);
        for (std::size_t c = 0; mask && c < element.size(); ++c) {
          element[c] = b.select(*mask, element[c], identity[c]);  // lanes past the chunk change nothing
        }
        const Parts total = state.last_lane(state.prefixes(element, identity));
        store(state.absorb(load(state, variables_of(id)), total), variables_of(id));
      }
    });
  });
}

/// A chunk of several leaves its states in the workspace and is done.
void RowPrinter::print_split(const std::vector<NodeId>& pass, const Range& range, const CarryLoop& units) {
  const std::string split = begin_if(b, b.emit_scalar(fmt::format("icmp sgt i64 {}, 1", chunks_)));
  if (scans_in_order()) {
    print_totals_in_order(range);
  } else if (!stages_.scans.empty()) {
    print_pass(pass, range);
  }
  store_slots(units.loop.counter, pass, scans_in_order());
  b.line(fmt::format("br label %{}.latch", units.loop.name));
  b.label(split + ".done");
}

void RowPrinter::print_units() {
  std::vector<std::string> space(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(kept()));
  if (form_.splits) space.insert(space.end(), {groups_, blocks_});
  const CarryLoop units = begin_carry_loop(b, space, "%begin", "%end");
  std::vector<std::string> coordinates = units.coordinates;
  const Range range = range_of(coordinates);
  coordinates.resize(kept());
  row_ = moved(base_addresses(), 0, coordinates);
  print_row_level(0);
  if (form_.splits && !stages_.scans.empty()) print_split(stages_.scans, range, units);
  for (std::size_t p = 0; p < stages_.passes.size(); ++p) {
    print_pass(stages_.passes[p], range);
    if (form_.splits) print_split(stages_.passes[p], range, units);
    print_results(stages_.passes[p]);
    print_row_level(static_cast<int>(p) + 1);
  }
  if (stages_.has_element_outputs) {
    print_identities(stages_.scans);
    print_element_outputs(range);
  }
  print_row_outputs();
  end_carry_loop(b, units);
}

/// Units [-rows, 0): one per row, which joins the states of its chunks in order.
void RowPrinter::print_finish() {
  const std::vector<std::string> space(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(kept()));
  const std::string rows = product_of(b, space);
  const CarryLoop units = begin_carry_loop(b, space, scalar_add(b, "%begin", rows), scalar_add(b, "%end", rows));
  row_ = moved(base_addresses(), 0, units.coordinates);
  print_row_level(0);
  const std::vector<NodeId>& pass = stages_.passes[0];
  const std::string first = scalar_multiply(b, units.loop.counter, chunks_);
  join_chunks(first, scalar_add(b, first, chunks_), pass);
  for (const NodeId id : pass) body_.set_value(id, state_of(id).result(load(state_of(id), variables_of(id))));
  print_row_level(1);
  print_row_outputs();
  end_carry_loop(b, units);
}

/// Units [-chunks, 0): each continues from the joined states of the chunks before it.
void RowPrinter::print_finish_of_scans() {
  std::vector<std::string> space(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(kept()));
  space.insert(space.end(), {groups_, blocks_});
  const CarryLoop units = begin_carry_loop(b, space, scalar_add(b, "%begin", slots_), scalar_add(b, "%end", slots_));
  std::vector<std::string> coordinates = units.coordinates;
  const Range range = range_of(coordinates);
  const std::string first = b.emit_scalar(fmt::format("sub i64 {}, {}", units.loop.counter, coordinates.back()));
  coordinates.resize(kept());
  row_ = moved(base_addresses(), 0, coordinates);
  print_row_level(0);
  join_chunks(first, units.loop.counter, stages_.scans);
  print_element_outputs(range);
  print_row_outputs();
  end_carry_loop(b, units);
}

std::string RowPrinter::print(const std::string& entry) {
  print_start();
  print_chunks();
  if (form_.splits) {
    const std::string finishing = begin_if(b, b.emit_scalar("icmp slt i64 %begin, 0"));
    if (stages_.scans.empty()) {
      print_finish();
    } else {
      print_finish_of_scans();
    }
    b.line("br label %exit");
    b.label(finishing + ".done");
  }
  print_units();
  return finish(entry);
}

}  // namespace

std::string print_row_reduction(const Kernel& kernel, const EmitOptions& options, const std::string& entry) {
  return RowPrinter(kernel, options).print(entry);
}

}  // namespace kiln::codegen
