// codegen/emit/llvm.cpp -- the CPU loop nest: units, rows, vectors and tails around a kernel body, as LLVM IR text.
#include <algorithm>

#include "codegen/emit/emit.h"
#include "codegen/emit/entry_name.h"
#include "codegen/emit/llvm_interleaved.h"
#include "codegen/emit/llvm_kernel.h"
#include "codegen/emit/llvm_loops.h"
#include "codegen/emit/llvm_ops.h"
#include "codegen/emit/llvm_reduction.h"
#include "codegen/emit/llvm_turned.h"
#include "support/check.h"

namespace kiln::codegen {
namespace {

class KernelPrinter : KernelFrame {
 public:
  KernelPrinter(const Kernel& described, const EmitOptions& chosen)
      : KernelFrame(described, chosen), body_(b, library, described.body, chosen.contract) {
    find_row_gathers();
    body_.set_memory(states);
    values_.resize(states.size());
  }

  std::string print(const std::string& entry);

 private:
  bool has_rows() const { return kernel.rank >= 2; }
  std::size_t outer() const { return has_rows() ? static_cast<std::size_t>(kernel.rank) - 1 : 0; }
  void begin_rows();
  void end_rows();
  void load_constants();
  void print_inner_loop();
  void print_loads();
  void print_stores(const std::vector<Parts>& outputs);
  bool folds_vectors() const;
  void print_inside();
  std::string place(const AccessState& state);
  IrValue whole_iota(const AccessState& state);
  IrValue print_mask();
  bool loads_vector(std::size_t a) const {
    const AccessState& state = states[a];
    return !state.access->store && !state.access->iota && !state.access->gathered &&
           state.inner() != AxisClass::broadcast;
  }

  /// A gather whose elements follow one another along a row: read like an operand, of which the row is found by index.
  struct RowGather {
    NodeId node;
    std::size_t state, affine;
    Access access;
    std::string exists = {};
  };
  void find_row_gathers();
  void print_row_gathers();
  void set_row_gathers();

  BodyPrinter body_;
  std::vector<RowGather> row_gathers_;
  std::vector<Parts> values_;             ///< per access: what the body reads
  std::vector<std::string> coordinates_;  ///< of the current row, outer axes
};

/// Opens the loop over units: %u counts them, %block is the column block, %cK the row's coordinates; all advance by
/// carry.
void KernelPrinter::begin_rows() {
  const std::size_t count = outer();
  const std::string& inner = extents[count];
  b.line(fmt::format("%padded = add i64 {}, {}", inner, cpu_column_block - 1));
  b.line(fmt::format("%blocks = udiv i64 %padded, {}", cpu_column_block));
  b.line("%firstblock = urem i64 %begin, %blocks");
  std::string rest = b.emit_scalar("udiv i64 %begin, %blocks");
  std::vector<std::string> first(count);
  for (std::size_t d = count; d-- > 0;) {
    first[d] = d == 0 ? rest : b.emit_scalar(fmt::format("urem i64 {}, {}", rest, extents[d]));
    if (d) rest = b.emit_scalar(fmt::format("udiv i64 {}, {}", rest, extents[d]));
  }
  const std::string from = b.block();
  b.line("br label %unit");
  b.label("unit");
  b.line(fmt::format("%u = phi i64 [ %begin, %{} ], [ %u.next, %unit.end ]", from));
  b.line(fmt::format("%block = phi i64 [ %firstblock, %{} ], [ %block.next, %unit.end ]", from));
  for (std::size_t d = 0; d < count; ++d) {
    b.line(fmt::format("%c{0} = phi i64 [ {1}, %{2} ], [ %c{0}.next, %unit.end ]", d, first[d], from));
    coordinates_.push_back(fmt::format("%c{}", d));
  }
  b.line(fmt::format("%i.first = mul i64 %block, {}", cpu_column_block));
  b.line(fmt::format("%i.limit = add i64 %i.first, {}", cpu_column_block));
  b.line(fmt::format("%i.last = call i64 @llvm.smin.i64(i64 %i.limit, i64 {})", inner));
}

void KernelPrinter::end_rows() {
  b.label("unit.end");
  b.line("%u.next = add i64 %u, 1");
  b.line("%block.one = add i64 %block, 1");
  b.line("%block.wrap = icmp eq i64 %block.one, %blocks");
  b.line("%block.next = select i1 %block.wrap, i64 0, i64 %block.one");
  std::string carry = "%block.wrap";
  for (std::size_t d = outer(); d-- > 0;) {
    const std::string step = b.emit_scalar(fmt::format("zext i1 {} to i64", carry));
    const std::string sum = b.emit_scalar(fmt::format("add i64 %c{}, {}", d, step));
    carry = b.emit_scalar(fmt::format("icmp eq i64 {}, {}", sum, extents[d]));
    b.line(fmt::format("%c{}.next = select i1 {}, i64 0, i64 {}", d, carry, sum));
  }
  b.line("%u.more = icmp slt i64 %u.next, %end");
  b.line("br i1 %u.more, label %unit, label %exit");
}

void KernelPrinter::find_row_gathers() {
  if (kernel.rank == 0) return;
  const auto inner = static_cast<std::size_t>(kernel.rank) - 1;
  for (const NodeId node : row_gathers(kernel, inner)) {
    Access access = kernel.accesses[kernel.body[node].payload];
    access.gathered = false;
    access.axes[inner] = AxisClass::contiguous;
    const NodeId affine = kernel.body[node].operands[gather_affine];
    row_gathers_.push_back({node, states.size() + row_gathers_.size(), kernel.body[affine].payload, access});
  }
  for (const RowGather& gather : row_gathers_) {
    AccessState state;
    state.access = &gather.access;
    state.vector_axis = inner;
    states.push_back(state);
  }
}

/// The rows that the indices of this row of the loop name. Where there is none, nothing of what is read there is used.
void KernelPrinter::print_row_gathers() {
  if (row_gathers_.empty()) return;
  std::vector<NodeId> needed;
  std::vector<char> wanted(kernel.body.size(), 0);
  for (const RowGather& gather : row_gathers_) wanted[kernel.body[gather.node].operands[gather_displacement]] = 1;
  for (NodeId id = kernel.body.size(); id-- > 0;) {
    if (wanted[id] == 0) continue;
    needed.push_back(id);
    for (const NodeId operand : kernel.body[id].inputs()) wanted[operand] = 1;
  }
  for (std::size_t a = 0; a < states.size(); ++a)
    if (states[a].access->iota && states[a].inner() == AxisClass::broadcast)
      values_[a] = {iota_vector(b, states[a], "0", {})};
  std::reverse(needed.begin(), needed.end());
  body_.compute(needed, {values_, parameters});
  for (RowGather& gather : row_gathers_) {
    const IrValue& lanes = body_.value(kernel.body[gather.node].operands[gather_displacement])[0];
    const std::string far = b.emit_scalar(fmt::format("extractelement {} {}, i32 0", b.type(Lane::i64), lanes.text));
    gather.exists = b.emit_scalar(fmt::format("icmp sge i64 {}, 0", far));
    const std::string at = b.emit_scalar(fmt::format("select i1 {}, i64 {}, i64 0", gather.exists, far));
    const std::string element = b.emit_scalar(fmt::format("add i64 {}, {}", at, states[gather.affine].row));
    const std::string bytes = b.emit_scalar(fmt::format("mul i64 {}, {}", element, size_of(gather.access.type)));
    const std::string& base = states[kernel.body[gather.node].payload].base;
    states[gather.state].row = b.emit_scalar(fmt::format("getelementptr i8, ptr {}, i64 {}", base, bytes));
  }
}

void KernelPrinter::set_row_gathers() {
  for (const RowGather& gather : row_gathers_) {
    const IrValue exists = b.splat(Lane::i1, gather.exists);
    Parts parts;
    for (const IrValue& part : values_[gather.state]) {
      const DType type = gather.access.type;
      parts.push_back(b.select(exists, part, b.bits(part.lane, missing_bits(is_complex(type) ? real_of(type) : type))));
    }
    if (gather.access.type == DType::b1) parts = {b.compare("icmp ne", parts[0], b.bits(Lane::i8, 0))};
    body_.set_fixed(gather.node, std::move(parts));
  }
}

void KernelPrinter::load_constants() {
  for (std::size_t a = 0; a < states.size(); ++a) {
    const AccessState& state = states[a];
    if (!state.access->store && !state.access->iota && !state.access->gathered && !loads_vector(a))
      values_[a] = load_broadcast(b, state);
  }
  print_row_gathers();
}

bool KernelPrinter::folds_vectors() const {
  return std::any_of(states.begin(), states.end(), [](const AccessState& state) { return state.is_folded(); });
}

/// %full: the vector is whole, and no operand needs folding.
void KernelPrinter::print_inside() {
  if (!folds_vectors()) return;
  std::string inside = "%whole";
  for (const AccessState& state : states) {
    if (!state.is_folded()) continue;
    const std::string holds = needs_no_fold(b, state, "%i");
    inside = b.emit_scalar(fmt::format("and i1 {}, {}", inside, holds));
  }
  b.line(fmt::format("%full = and i1 {}, true", inside));
}

/// Where a vector of the operand that needs no folding starts.
std::string KernelPrinter::place(const AccessState& state) {
  return state.is_folded() ? position_of(b, state, state.vector_axis, "%i") : "%i";
}

/// What the lanes of an iota are more than its row (folded) or its first lane.
IrValue KernelPrinter::whole_iota(const AccessState& state) {
  if (!state.is_folded()) return state.lane_offsets;
  const IrValue positions = b.splat(Lane::i64, place(state)) + b.lane_numbers(Lane::i64);
  return positions * b.splat(Lane::i64, state.stride(state.vector_axis));
}

/// Lanes before the end. Vectors that are whole, but folded, take the way of the last one.
IrValue KernelPrinter::print_mask() {
  const std::string lanes = folds_vectors() ? scalar_least(b, "%left", std::to_string(b.width())) : "%left";
  const std::string left = b.emit_scalar(fmt::format("trunc i64 {} to i32", lanes));
  return b.lane_numbers(Lane::i32) < b.splat(Lane::i32, left);
}

/// Full vectors load at once; the last, partial one loads through a mask. Both meet before the body.
void KernelPrinter::print_loads() {
  std::vector<Parts> full(states.size()), tail(states.size());
  const auto moves_iota = [&](std::size_t a) {
    return states[a].access->iota && states[a].inner() != AxisClass::broadcast;
  };
  b.label("load.full");
  for (std::size_t a = 0; a < states.size(); ++a) {
    if (loads_vector(a)) full[a] = load_vector(b, states[a], place(states[a]), "");
    if (moves_iota(a)) full[a] = {whole_iota(states[a])};
  }
  b.line("br label %body");
  b.label("load.tail");
  const IrValue mask = print_mask();
  for (std::size_t a = 0; a < states.size(); ++a) {
    const AccessState& state = states[a];
    if (loads_vector(a)) {
      tail[a] = state.is_folded() ? load_lanes(b, state, folded_lanes(b, state, "%i"), mask.text)
                                  : load_vector(b, state, "%i", mask.text);
    }
    // Lanes past the end repeat the first: an iota stays in its range, on which divisions without guards rely.
    if (moves_iota(a)) {
      const IrValue lanes = state.is_folded() ? folded_lanes(b, state, "%i") : state.lane_offsets;
      tail[a] = {select(mask, lanes, b.bits(Lane::i64, 0))};
    }
  }
  b.line("br label %body");
  b.label("body");
  for (std::size_t a = 0; a < states.size(); ++a) {
    if (full[a].empty()) continue;
    values_[a].clear();
    for (std::size_t part = 0; part < full[a].size(); ++part) {
      const Lane lane = full[a][part].lane;
      values_[a].push_back(b.emit(lane, fmt::format("phi {} [ {}, %load.full ], [ {}, %load.tail ]", b.type(lane),
                                                    full[a][part].text, tail[a][part].text)));
    }
  }
  for (std::size_t a = 0; a < states.size(); ++a) {
    if (!states[a].access->iota) continue;
    if (states[a].is_folded()) {
      values_[a] = {b.splat(Lane::i64, states[a].row) + values_[a][0]};
      continue;
    }
    values_[a] = {iota_vector(b, states[a], "%i", moves_iota(a) ? values_[a][0] : IrValue{})};
  }
}

void KernelPrinter::print_stores(const std::vector<Parts>& outputs) {
  const std::size_t first = kernel.first_store();
  b.line(fmt::format("br i1 {}, label %store.full, label %store.tail, !prof !0", folds_vectors() ? "%whole" : "%full"));
  b.label("store.full");
  for (std::size_t k = 0; k < outputs.size(); ++k) store_vector(b, states[first + k], "%i", outputs[k], "");
  b.line("br label %next");
  b.label("store.tail");
  const std::string mask = print_mask().text;
  for (std::size_t k = 0; k < outputs.size(); ++k) store_vector(b, states[first + k], "%i", outputs[k], mask);
  b.line("br label %next");
  b.label("next");
}

void KernelPrinter::print_inner_loop() {
  const std::string from = b.block(), begin = has_rows() ? "%i.first" : "%begin", end = has_rows() ? "%i.last" : "%end";
  b.line("br label %inner");
  b.label("inner");
  b.line(fmt::format("%i = phi i64 [ {}, %{} ], [ %i.next, %next ]", begin, from));
  b.line(fmt::format("%left = sub i64 {}, %i", end));
  b.line(fmt::format("{} = icmp sge i64 %left, {}", folds_vectors() ? "%whole" : "%full", b.width()));
  print_inside();
  b.line("br i1 %full, label %load.full, label %load.tail, !prof !0");
  print_loads();
  set_row_gathers();
  if (!kernel.body.functions().empty()) {
    body_.set_count(b.emit_scalar(fmt::format("call i64 @llvm.smin.i64(i64 %left, i64 {})", b.width())));
  }
  std::vector<DType> types;
  for (std::size_t a = kernel.first_store(); a < kernel.accesses.size(); ++a) types.push_back(kernel.accesses[a].type);
  print_stores(body_.print({values_, parameters}, types));
  b.line(fmt::format("%i.next = add i64 %i, {}", b.width()));
  b.line(fmt::format("%i.more = icmp slt i64 %i.next, {}", end));
  b.line(fmt::format("br i1 %i.more, label %inner, label %{}", has_rows() ? "unit.end" : "exit"));
}

std::string KernelPrinter::print(const std::string& entry) {
  b.line("%empty = icmp sge i64 %begin, %end");
  b.line("br i1 %empty, label %exit, label %start");
  b.label("start");
  print_arguments();
  print_lane_offsets();
  if (has_rows()) begin_rows();
  print_row_bases(coordinates_);
  load_constants();
  print_inner_loop();
  if (has_rows()) end_rows();
  b.label("exit");
  b.line("ret void");
  return module(entry);
}

}  // namespace

KernelSource emit_llvm(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options) {
  KernelSource source;
  source.language = Language::llvm_ir;
  Schedule named = schedule;
  if (kernel.reduced == 0) named.form = kernel.rank >= 2 ? Template::rows : Template::flat;
  source.entry = entry_name(kernel, named);
  source.argument_bytes = argument_layout(kernel).size;
  if (kernel.reduced > 0) {
    source.text = print_reduction(kernel, schedule, options, source.entry);
  } else if (has_turned_tiles(kernel)) {
    source.text = print_turned(kernel, options, source.entry);
  } else if (has_interleaved_rows(kernel)) {
    source.text = print_interleaved(kernel, options, source.entry);
  } else {
    source.text = KernelPrinter(kernel, options).print(source.entry);
  }
  return source;
}

std::int64_t cpu_units(const Kernel& kernel, const Extents& extents) {
  if (kernel.rank == 0) return 1;
  if (kernel.rank == 1) return extents.loop[0];
  std::size_t outer = extents.loop.size() - 1;
  std::int64_t rows = 1, length = extents.loop.back();
  if (!has_turned_tiles(kernel) && has_interleaved_rows(kernel)) length *= extents.loop[--outer];
  for (std::size_t axis = 0; axis < outer; ++axis) rows *= extents.loop[axis];
  return rows * ((length + cpu_column_block - 1) / cpu_column_block);
}

}  // namespace kiln::codegen
