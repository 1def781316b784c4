// codegen/emit/llvm_reduction_columns.cpp -- CPU kernels that reduce or scan across the axis their vectors run along.
//
// A unit is a block of columns, or a chunk of its lines. Lines are walked outside and columns inside, so that memory is
// read in order; the states of the block's columns, and row-level values between the passes, live in buffers that a
// first-level cache holds.
#include <algorithm>

#include <fmt/format.h>

#include "codegen/emit/llvm_column_buffers.h"
#include "codegen/emit/llvm_reduction.h"

namespace kiln::codegen {
namespace {

class ColumnPrinter : ReductionPrinter {
 public:
  ColumnPrinter(const Kernel& described, const EmitOptions& chosen)
      : ReductionPrinter(described, Template::column_reduction, chosen),
        state_buffers_(described.body.size()),
        value_buffers_(described.body.size()) {
    for (AccessState& state : states) state.vector_axis = kept() - 1;
  }
  std::string print(const std::string& entry);

 private:
  using Column = std::function<void(const std::string& j, const IrValue* mask)>;
  void choose_saved();
  void print_chunks();
  void print_units();
  void print_finish();
  void set_block(const std::string& block, const std::vector<std::string>& outer);
  void for_columns(const std::vector<NodeId>& nodes, const Column& each);
  void for_lines(const std::string& first, const std::string& last, const std::vector<NodeId>& nodes,
                 const Column& each);
  void for_pieces(const std::vector<NodeId>& joined, const Piece& piece);
  using Accumulate = std::function<void(const std::string& j, const std::vector<std::vector<Parts>>& elements)>;
  std::string print_batches(const std::string& first, const std::string& last, const std::vector<NodeId>& pass,
                            const std::vector<NodeId>& nodes, const Accumulate& accumulate);
  void print_stage(int depth);
  void print_pass(const std::vector<NodeId>& pass);
  void print_identities(const std::vector<NodeId>& pass);
  void print_element_outputs();
  void print_row_outputs();
  std::string first_slot(const std::vector<std::string>& outer, const std::string& chunk);
  void store_slots(const std::string& first, const std::vector<NodeId>& pass);
  void join_slots(const std::string& first, const std::vector<NodeId>& pass);
  /// Values of `nodes` at columns j..: from buffers, memory or computation.
  void compute_columns(const std::vector<NodeId>& nodes, const std::string& j, const IrValue* mask);
  std::vector<NodeId> with_saved(const std::vector<NodeId>& roots) const;
  Buffers& buffers_of(std::vector<Buffers>& all, NodeId id, const std::vector<Lane>& lanes);
  Parts load(const Buffers& buffers, const std::string& j);
  void store(const Buffers& buffers, const std::string& j, const Parts& parts);
  Buffers& state_buffers(NodeId id) { return buffers_of(state_buffers_, id, state_of(id).lanes()); }
  Buffers& value_buffers(NodeId id);

  std::vector<char> saved_;  ///< by node: row-level values that elements or later stages need
  std::vector<char> ready_;  ///< of those: what the buffers hold at this point of the text
  std::vector<Buffers> state_buffers_, value_buffers_;
  std::vector<std::string> block_addresses_;  ///< of column 0 of the current outer coordinates
  std::string first_column_, end_column_, columns_, blocks_, lines_, first_line_ = "0", last_line_;
  std::string lines_per_chunk_, chunks_ = "1";  ///< kernels that split
};

Buffers& ColumnPrinter::buffers_of(std::vector<Buffers>& all, NodeId id, const std::vector<Lane>& lanes) {
  Buffers& buffers = all[id];
  if (buffers.lanes.empty()) {
    buffers.lanes = lanes;
    for (const Lane lane : lanes)
      buffers.addresses.push_back(
          variable(fmt::format("[{} x {}]", form_.column_block, name_of(lane_in_memory(lane)))));
  }
  return buffers;
}

Parts ColumnPrinter::load(const Buffers& buffers, const std::string& j) {
  return load_buffers(b, buffers, b.emit_scalar(fmt::format("sub i64 {}, {}", j, first_column_)));
}

void ColumnPrinter::store(const Buffers& buffers, const std::string& j, const Parts& parts) {
  store_buffers(b, buffers, b.emit_scalar(fmt::format("sub i64 {}, {}", j, first_column_)), parts);
}

/// Results of reductions, and row-level values that elements use, are computed once per column.
void ColumnPrinter::choose_saved() {
  saved_.assign(kernel.body.size(), 0);
  for (NodeId id = 0; id < kernel.body.size(); ++id) {
    const Node& node = kernel.body[id];
    if (node.kind == NodeKind::reduce) saved_[id] = 1;
    if (!per_element(id) && node.kind != NodeKind::reduce) continue;
    for (const NodeId operand : node.inputs()) {
      const Node& value = kernel.body[operand];
      if (!per_element(operand) && value.arity > 0 && value.kind != NodeKind::tuple) saved_[operand] = 1;
    }
  }
}

/// The nodes that the roots need and the buffers lack, and the ready ones that they use, operands first.
std::vector<NodeId> ColumnPrinter::with_saved(const std::vector<NodeId>& roots) const {
  std::vector<char> present(kernel.body.size(), 0);
  for (const NodeId root : roots) present[root] = 1;
  for (const NodeId id : needed(roots, [&](NodeId node) { return ready_[node] != 0; })) {
    present[id] = 1;
    for (const NodeId operand : kernel.body[id].inputs()) present[operand] = 1;
  }
  std::vector<NodeId> nodes;
  for (NodeId id = 0; id < kernel.body.size(); ++id) {
    if (present[id] != 0) nodes.push_back(id);
  }
  return nodes;
}

Buffers& ColumnPrinter::value_buffers(NodeId id) {
  const Node& node = kernel.body[id];
  if (node.kind == NodeKind::reduce) return buffers_of(value_buffers_, id, state_of(id).result_lanes());
  return buffers_of(value_buffers_, id,
                    std::vector<Lane>(static_cast<std::size_t>(part_count(node.type)), lane_of(node.type)));
}

void ColumnPrinter::compute_columns(const std::vector<NodeId>& nodes, const std::string& j, const IrValue* mask) {
  load_vectors(nodes, j, mask);
  for (const NodeId id : nodes) {
    if (ready_[id] != 0) {
      body_.set_value(id, load(value_buffers(id), j));
    } else if (kernel.body[id].kind == NodeKind::scan) {
      const Buffers& carry = state_buffers(id);
      const Parts after = state_of(id).accumulate(load(carry, j), {state_of(id).element(body_)});
      store(carry, j, after);
      body_.set_value(id, state_of(id).result(after));
    } else {
      compute({id});
    }
  }
}

/// Over the columns of the block.
void ColumnPrinter::for_columns(const std::vector<NodeId>& nodes, const Column& each) {
  load_broadcasts(nodes);
  for_vectors(first_column_, end_column_, [&](const std::string& j, const IrValue* mask) {
    compute_columns(nodes, j, mask);
    each(j, mask);
  });
}

/// Over the columns of the lines [first, last).
void ColumnPrinter::for_lines(const std::string& first, const std::string& last, const std::vector<NodeId>& nodes,
                              const Column& each) {
  const std::vector<std::string> reduced(extents.begin() + static_cast<std::ptrdiff_t>(kept()), extents.end());
  const CarryLoop lines = begin_carry_loop(b, reduced, first, last);
  set_rows(moved(block_addresses_, kept(), lines.coordinates));
  for_columns(nodes, each);
  end_carry_loop(b, lines);
  set_rows(block_addresses_);
}

void ColumnPrinter::for_pieces(const std::vector<NodeId>& joined, const Piece& piece) {
  ReductionPrinter::for_pieces(first_line_, last_line_, cpu_settling_lines, joined, piece, [&] {
    for_columns({}, [&](const std::string& j, const IrValue*) {
      for (const NodeId id : joined) store(state_buffers(id), j, state_of(id).settled(load(state_buffers(id), j)));
    });
  });
}

/// The same numbers as cpu_reduction_shape.
void ColumnPrinter::print_chunks() {
  const auto kept_end = extents.begin() + static_cast<std::ptrdiff_t>(kept());
  columns_ = extents[kept() - 1];
  const std::string block = fmt::format("{}", form_.column_block);
  blocks_ = ceil_divide(b, columns_, block);
  lines_ = last_line_ = product_of(b, {kept_end, extents.end()});
  if (!form_.splits) return;
  const std::string outer = product_of(b, {extents.begin(), kept_end - 1});
  const std::string units = scalar_multiply(b, outer, blocks_);
  const auto quotient = [&](std::int64_t a, const std::string& divisor) {
    return scalar_greatest(b, b.emit_scalar(fmt::format("udiv i64 {}, {}", a, divisor)), "1");
  };
  const std::string least = quotient(cpu_chunk_elements, scalar_least(b, columns_, block));
  lines_per_chunk_ = scalar_greatest(b, least, ceil_divide(b, lines_, quotient(cpu_column_units, units)));
  chunks_ = scalar_greatest(b, ceil_divide(b, lines_, lines_per_chunk_), "1");
  slots_ = scalar_multiply(b, scalar_multiply(b, outer, chunks_), columns_);
}

void ColumnPrinter::set_block(const std::string& block, const std::vector<std::string>& outer) {
  const std::string size = fmt::format("{}", form_.column_block);
  first_column_ = scalar_multiply(b, block, size);
  end_column_ = scalar_least(b, scalar_add(b, first_column_, size), columns_);
  block_addresses_ = moved(base_addresses(), 0, outer);
  set_rows(block_addresses_);
  ready_.assign(kernel.body.size(), 0);
}

/// Number of the slot of column 0.
std::string ColumnPrinter::first_slot(const std::vector<std::string>& outer, const std::string& chunk) {
  std::string number = "0";
  for (std::size_t d = 0; d < outer.size(); ++d)
    number = scalar_add(b, scalar_multiply(b, number, extents[d]), outer[d]);
  return scalar_multiply(b, scalar_add(b, scalar_multiply(b, number, chunks_), chunk), columns_);
}

void ColumnPrinter::store_slots(const std::string& first, const std::vector<NodeId>& pass) {
  for_vectors(first_column_, end_column_, [&](const std::string& j, const IrValue* mask) {
    std::size_t component = 0;
    for (const NodeId id : pass) {
      for (const IrValue& part : load(state_buffers(id), j)) {
        const Lane lane = lane_in_memory(part.lane);
        const IrValue value = part.lane == lane ? part : b.convert("zext", part, lane);
        const std::string pointer = slot(scalar_add(b, first, j), component++);
        store_plain(b, pointer, value, mask);
      }
    }
  });
}

void ColumnPrinter::join_slots(const std::string& first, const std::vector<NodeId>& pass) {
  for_vectors(first_column_, end_column_, [&](const std::string& j, const IrValue* mask) {
    std::size_t component = 0;
    for (const NodeId id : pass) {
      Parts chunk;
      for (const Lane lane : state_of(id).lanes()) {
        const IrValue value = load_plain(b, slot(scalar_add(b, first, j), component++), lane_in_memory(lane), mask);
        chunk.push_back(lane == value.lane ? value : b.compare("icmp ne", value, b.bits(value.lane, 0)));
      }
      store(state_buffers(id), j, state_of(id).settled(state_of(id).join(load(state_buffers(id), j), chunk)));
    }
  });
}

/// Row-level values that become known when the passes 0 .. depth - 1 are done.
void ColumnPrinter::print_stage(int depth) {
  std::vector<NodeId> roots;
  for (NodeId id = 0; id < kernel.body.size(); ++id) {
    if (saved_[id] != 0 && stages_.depth[id] == depth && kernel.body[id].kind != NodeKind::reduce) roots.push_back(id);
  }
  const std::vector<NodeId> none, &pass = depth > 0 ? stages_.passes[static_cast<std::size_t>(depth) - 1] : none;
  if (!pass.empty()) {
    for_columns({}, [&](const std::string& j, const IrValue*) {
      for (const NodeId id : pass) store(value_buffers(id), j, state_of(id).result(load(state_buffers(id), j)));
    });
  }
  for (const NodeId id : pass) ready_[id] = 1;
  if (roots.empty()) return;
  for_columns(with_saved(roots), [&](const std::string& j, const IrValue*) {
    for (const NodeId id : roots) store(value_buffers(id), j, body_.value(id));
  });
  for (const NodeId id : roots) ready_[id] = 1;
}

void ColumnPrinter::print_identities(const std::vector<NodeId>& pass) {
  std::vector<NodeId> roots;
  for (const NodeId id : pass) {
    for (const NodeId identity : state_of(id).identities()) roots.push_back(identity);
  }
  for_columns(with_saved(roots), [&](const std::string& j, const IrValue*) {
    for (const NodeId id : pass) store(state_buffers(id), j, state_of(id).identity(body_));
  });
}

void ColumnPrinter::print_pass(const std::vector<NodeId>& pass) {
  print_identities(pass);
  std::vector<NodeId> roots;
  for (const NodeId id : pass) {
    for (const NodeId operand : state_of(id).operands()) roots.push_back(operand);
  }
  const std::vector<NodeId> nodes = with_saved(roots);
  const auto accumulate = [&](const std::string& j, const std::vector<std::vector<Parts>>& elements) {
    for (std::size_t k = 0; k < pass.size(); ++k)
      store(state_buffers(pass[k]), j, state_of(pass[k]).accumulate(load(state_buffers(pass[k]), j), elements[k]));
  };
  for_pieces(pass, [&](const std::string& first, const std::string& last) {
    const bool in_batches = batch_ > 1 && kernel.reduced == 1;
    const std::string rest = in_batches ? print_batches(first, last, pass, nodes, accumulate) : first;
    for_lines(rest, last, nodes, [&](const std::string& j, const IrValue*) {
      std::vector<std::vector<Parts>> elements;
      for (const NodeId id : pass) elements.push_back({state_of(id).element(body_)});
      accumulate(j, elements);
    });
  });
}

/// Joins several lines at a time before the accumulators are read and written; returns the first line that is left.
std::string ColumnPrinter::print_batches(const std::string& first, const std::string& last,
                                         const std::vector<NodeId>& pass, const std::vector<NodeId>& nodes,
                                         const Accumulate& accumulate) {
  const std::string whole = b.emit_scalar(fmt::format("sub i64 {}, {}", last, batch_ - 1));
  const CountedLoop lines = begin_loop(b, first, whole, batch_);
  std::vector<std::vector<std::string>> addresses;
  std::vector<std::vector<Parts>> broadcasts;
  for (int line = 0; line < batch_; ++line) {
    addresses.push_back(moved(block_addresses_, kept(), {scalar_add(b, lines.counter, fmt::format("{}", line))}));
    set_rows(addresses.back());
    load_broadcasts(nodes);
    broadcasts.push_back(values_);
  }
  for_vectors(first_column_, end_column_, [&](const std::string& j, const IrValue* mask) {
    std::vector<std::vector<Parts>> elements(pass.size());
    for (std::size_t line = 0; line < addresses.size(); ++line) {
      set_rows(addresses[line]);
      values_ = broadcasts[line];
      compute_columns(nodes, j, mask);
      for (std::size_t k = 0; k < pass.size(); ++k) elements[k].push_back(state_of(pass[k]).element(body_));
    }
    accumulate(j, elements);
  });
  end_loop(b, lines);
  set_rows(block_addresses_);
  return lines.counter;
}

void ColumnPrinter::print_element_outputs() {
  if (!stages_.scans.empty()) print_identities(stages_.scans);
  const std::vector<NodeId> nodes = with_saved(outputs(true));
  for_pieces(stages_.scans, [&](const std::string& first, const std::string& last) {
    for_lines(first, last, nodes, [&](const std::string& j, const IrValue* mask) { store_outputs(true, j, mask); });
  });
}

void ColumnPrinter::print_row_outputs() {
  const std::vector<NodeId> roots = outputs(false);
  if (roots.empty()) return;
  for_columns(with_saved(roots), [&](const std::string& j, const IrValue* mask) { store_outputs(false, j, mask); });
}

void ColumnPrinter::print_units() {
  std::vector<std::string> space(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(kept()) - 1);
  if (form_.splits) space.push_back(chunks_);
  space.push_back(blocks_);
  const CarryLoop units = begin_carry_loop(b, space, "%begin", "%end");
  const std::vector<std::string> outer(units.coordinates.begin(),
                                       units.coordinates.begin() + static_cast<std::ptrdiff_t>(kept()) - 1);
  set_block(units.coordinates.back(), outer);
  std::string chunk;
  if (form_.splits) {
    chunk = units.coordinates[kept() - 1];
    first_line_ = scalar_multiply(b, chunk, lines_per_chunk_);
    last_line_ = scalar_least(b, scalar_add(b, first_line_, lines_per_chunk_), lines_);
  }
  print_stage(0);
  for (std::size_t p = 0; p < stages_.passes.size(); ++p) {
    print_pass(stages_.passes[p]);
    if (form_.splits) {
      const std::string split = begin_if(b, b.emit_scalar(fmt::format("icmp sgt i64 {}, 1", chunks_)));
      store_slots(first_slot(outer, chunk), stages_.passes[p]);
      b.line(fmt::format("br label %{}.latch", units.loop.name));
      b.label(split + ".done");
    }
    print_stage(static_cast<int>(p) + 1);
  }
  if (stages_.has_element_outputs) print_element_outputs();
  print_row_outputs();
  end_carry_loop(b, units);
}

/// Units [-blocks of columns, 0): each joins the chunks of its columns in order.
void ColumnPrinter::print_finish() {
  std::vector<std::string> space(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(kept()) - 1);
  space.push_back(blocks_);
  const std::string count = product_of(b, space);
  const CarryLoop units = begin_carry_loop(b, space, scalar_add(b, "%begin", count), scalar_add(b, "%end", count));
  const std::vector<std::string> outer(units.coordinates.begin(), units.coordinates.end() - 1);
  set_block(units.coordinates.back(), outer);
  print_stage(0);
  print_identities(stages_.passes[0]);
  const CountedLoop chunks = begin_loop(b, "0", chunks_);
  join_slots(first_slot(outer, chunks.counter), stages_.passes[0]);
  end_loop(b, chunks);
  print_stage(1);
  print_row_outputs();
  end_carry_loop(b, units);
}

std::string ColumnPrinter::print(const std::string& entry) {
  choose_saved();
  print_start();
  print_chunks();
  if (form_.splits) {
    const std::string finishing = begin_if(b, b.emit_scalar("icmp slt i64 %begin, 0"));
    print_finish();
    b.line("br label %exit");
    b.label(finishing + ".done");
  }
  print_units();
  return finish(entry);
}

}  // namespace

std::string print_column_reduction(const Kernel& kernel, const EmitOptions& options, const std::string& entry) {
  return ColumnPrinter(kernel, options).print(entry);
}

}  // namespace kiln::codegen
