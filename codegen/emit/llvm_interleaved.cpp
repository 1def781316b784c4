// codegen/emit/llvm_interleaved.cpp -- vectors across a short innermost axis.
//
// Along the short axis a vector would be mostly empty, so the last two axes are walked as one: a position is
// second * period + last. Operands without gaps are read like any other row. What depends on the last axis alone is
// laid out once, repeated until any vector finds its lanes one after the other; everything else is gathered by offsets
// that are kept per lane and advanced by carry.
#include "codegen/emit/llvm_interleaved.h"

#include <algorithm>

#include <fmt/format.h>

#include "codegen/emit/llvm_kernel.h"
#include "codegen/emit/llvm_loops.h"
#include "codegen/emit/llvm_ops.h"

namespace kiln::codegen {
namespace {

enum class Reading : std::uint8_t {
  dense,     ///< the next elements of the row
  repeated,  ///< of the last axis alone
  constant,  ///< of neither axis
  lanes      ///< gathered; iota: the value is the offset
};

class InterleavedPrinter : KernelFrame {
 public:
  InterleavedPrinter(const Kernel& described, const EmitOptions& chosen);
  std::string print(const std::string& entry);

 private:
  std::size_t outer() const { return static_cast<std::size_t>(kernel.rank) - 2; }
  bool by_lane(std::size_t a) const { return readings_[a] == Reading::lanes; }
  void print_steps();
  void start_unit(const std::string& first);
  void start_lanes(const std::string& first, const std::string& phase);
  void repeat_elements(std::size_t a);
  void print_vector(const std::string& i, const std::string& last);
  void print_loads(const std::string& i);
  void print_stores(const std::string& i, const std::vector<Parts>& outputs);
  void advance();
  IrValue tail_mask() {
    const std::string left = b.emit_scalar("trunc i64 %left to i32");
    return b.lane_numbers(Lane::i32) < b.splat(Lane::i32, left);
  }
  std::string load_number(const std::string& from) { return b.emit_scalar(fmt::format("load i64, ptr {}", from)); }
  IrValue load_variable(Lane lane, const std::string& from) {
    return b.emit(lane, fmt::format("load {}, ptr {}", b.type(lane), from));
  }
  void store_variable(const IrValue& value, const std::string& to) {
    b.line(fmt::format("store {} {}, ptr {}", b.type(value.lane), value.text, to));
  }

  std::vector<Reading> readings_;
  std::vector<Parts> values_;              ///< per access: what the body reads
  std::vector<std::string> offsets_;       ///< per access read by lanes: variable of the i64 offsets
  std::vector<IrValue> step_, step_over_;  ///< what they grow by from vector to vector; where the last axis wraps
  std::vector<std::string> tables_;        ///< per repeated access: period + width elements
  std::string period_, phase_, rest_;  ///< extent; variable: place of the first lane in it; what a vector adds to that
  std::string places_;                 ///< variable: i32 place of each lane
  IrValue rest_of_lanes_, period_of_lanes_;
};

InterleavedPrinter::InterleavedPrinter(const Kernel& described, const EmitOptions& chosen)
    : KernelFrame(described, chosen),
      values_(states.size()),
      offsets_(states.size()),
      step_(states.size()),
      step_over_(states.size()),
      tables_(states.size()) {
  for (const Access& access : kernel.accesses) {
    const AxisClass last = access.axes[outer() + 1], second = access.axes[outer()];
    const bool is_constant = last == AxisClass::broadcast && second == AxisClass::broadcast;
    if (access.dense_alignment > 0) {
      readings_.push_back(Reading::dense);
    } else if (is_constant && !access.iota) {
      readings_.push_back(Reading::constant);
    } else if (second == AxisClass::broadcast && !access.iota && !is_complex(access.type)) {
      readings_.push_back(Reading::repeated);
    } else {
      readings_.push_back(Reading::lanes);
    }
  }
}

/// How far phase and offsets move from one vector to the next.
void InterleavedPrinter::print_steps() {
  const std::string width = fmt::format("{}", b.width());
  const std::string whole = b.emit_scalar(fmt::format("udiv i64 {}, {}", width, period_));
  rest_ = b.emit_scalar(fmt::format("urem i64 {}, {}", width, period_));
  phase_ = variable("i64");
  for (std::size_t a = 0; a < states.size(); ++a) {
    if (readings_[a] == Reading::repeated)
      tables_[a] =
          variable(fmt::format("[{} x {}]", short_axis + b.width(), name_of(storage_lane(states[a].access->type))));
    if (!by_lane(a)) continue;
    offsets_[a] = variable(b.type(Lane::i64));
    const std::string second = states[a].stride(outer()), last = states[a].stride(outer() + 1);
    const std::string step = scalar_add(b, scalar_multiply(b, whole, second), scalar_multiply(b, rest_, last));
    const std::string row = scalar_multiply(b, period_, last);
    const std::string over = b.emit_scalar(fmt::format("sub i64 {}, {}", scalar_add(b, step, second), row));
    step_[a] = b.splat(Lane::i64, step);
    step_over_[a] = b.splat(Lane::i64, over);
  }
  if (std::find(readings_.begin(), readings_.end(), Reading::lanes) == readings_.end()) return;
  places_ = variable(b.type(Lane::i32));
  rest_of_lanes_ = b.splat(Lane::i32, b.emit_scalar(fmt::format("trunc i64 {} to i32", rest_)));
  period_of_lanes_ = b.splat(Lane::i32, b.emit_scalar(fmt::format("trunc i64 {} to i32", period_)));
}

/// The elements of the last axis, then again as many as a vector that starts at the last of them needs.
void InterleavedPrinter::repeat_elements(std::size_t a) {
  const AccessState& state = states[a];
  const char* type = name_of(storage_lane(state.access->type));
  const auto place = [&](const std::string& k) {
    return b.emit_scalar(fmt::format("getelementptr {}, ptr {}, i64 {}", type, tables_[a], k));
  };
  const auto copy = [&](const std::string& from, const std::string& to) {
    const std::string element = b.emit_scalar(fmt::format("load {}, ptr {}, align 1", type, from));
    b.line(fmt::format("store {} {}, ptr {}", type, element, to));
  };
  const CountedLoop elements = begin_loop(b, "0", period_);
  const std::string offset = scalar_multiply(b, elements.counter, state.stride(outer() + 1));
  copy(b.emit_scalar(fmt::format("getelementptr i8, ptr {}, i64 {}", state.row, offset)), place(elements.counter));
  end_loop(b, elements);
  const CountedLoop again = begin_loop(b, "0", fmt::format("{}", b.width()));
  copy(place(again.counter), place(scalar_add(b, again.counter, period_)));
  end_loop(b, again);
}

/// Offsets of the lanes at position `first`, whose place along the last axis is `phase`.
void InterleavedPrinter::start_lanes(const std::string& first, const std::string& phase) {
  const std::string second = b.emit_scalar(fmt::format("udiv i64 {}, {}", first, period_));
  const IrValue place =
      b.lane_numbers(Lane::i32) + b.splat(Lane::i32, b.emit_scalar(fmt::format("trunc i64 {} to i32", phase)));
  // Places are below 32 + 64, so that half a unit more than these quotients is far from any integer.
  const IrValue quotient = b.convert("sitofp", place, Lane::f32) + 0.5;
  const IrValue carried = b.convert("fptosi", quotient / b.convert("sitofp", period_of_lanes_, Lane::f32), Lane::i32);
  const IrValue last = place - carried * period_of_lanes_;
  store_variable(last, places_);
  for (std::size_t a = 0; a < states.size(); ++a) {
    if (!by_lane(a)) continue;
    const AccessState& state = states[a];
    const IrValue rows = b.convert("sext", carried, Lane::i64) + b.splat(Lane::i64, second);
    store_variable(rows * b.splat(Lane::i64, state.stride(outer())) +
                       b.convert("sext", last, Lane::i64) * b.splat(Lane::i64, state.stride(outer() + 1)),
                   offsets_[a]);
  }
}

void InterleavedPrinter::start_unit(const std::string& first) {
  const std::string phase = b.emit_scalar(fmt::format("urem i64 {}, {}", first, period_));
  b.line(fmt::format("store i64 {}, ptr {}", phase, phase_));
  if (!places_.empty()) start_lanes(first, phase);
  for (std::size_t a = 0; a < states.size(); ++a) {
    if (readings_[a] == Reading::repeated) repeat_elements(a);
    if (readings_[a] == Reading::constant) values_[a] = load_broadcast(b, states[a]);
  }
}

void InterleavedPrinter::print_loads(const std::string& i) {
  std::vector<Parts> full(states.size()), tail(states.size());
  std::vector<IrValue> offsets(states.size());
  for (std::size_t a = 0; a < states.size(); ++a) {
    if (by_lane(a)) offsets[a] = load_variable(Lane::i64, offsets_[a]);
  }
  const auto load = [&](std::size_t a, const std::string& mask) {
    return by_lane(a) ? load_lanes(b, states[a], offsets[a], mask) : load_vector(b, states[a], i, mask);
  };
  b.line("br i1 %full, label %load.full, label %load.tail, !prof !0");
  b.label("load.full");
  for (std::size_t a = 0; a < kernel.first_store(); ++a) {
    const bool iota = states[a].access->iota;
    if (iota) full[a] = {offsets[a]};
    if (!iota && (by_lane(a) || readings_[a] == Reading::dense)) full[a] = load(a, "");
  }
  b.line("br label %body");
  b.label("load.tail");
  const IrValue mask = tail_mask();
  for (std::size_t a = 0; a < kernel.first_store(); ++a) {
    if (full[a].empty()) continue;
    if (!states[a].access->iota) {
      tail[a] = load(a, mask.text);
      continue;
    }
    // Lanes past the end repeat the first: an iota stays in its range, on which divisions without guards rely.
    const std::string one =
        b.emit_scalar(fmt::format("extractelement {} {}, i32 0", b.type(Lane::i64), offsets[a].text));
    tail[a] = {select(mask, offsets[a], b.splat(Lane::i64, one))};
  }
  b.line("br label %body");
  b.label("body");
  for (std::size_t a = 0; a < kernel.first_store(); ++a) {
    if (full[a].empty()) continue;
    values_[a].clear();
    for (std::size_t part = 0; part < full[a].size(); ++part) {
      const Lane lane = full[a][part].lane;
      values_[a].push_back(b.emit(lane, fmt::format("phi {} [ {}, %load.full ], [ {}, %load.tail ]", b.type(lane),
                                                    full[a][part].text, tail[a][part].text)));
    }
  }
}

void InterleavedPrinter::print_stores(const std::string& i, const std::vector<Parts>& outputs) {
  const std::size_t first = kernel.first_store();
  b.line("br i1 %full, label %store.full, label %store.tail, !prof !0");
  b.label("store.full");
  for (std::size_t k = 0; k < outputs.size(); ++k) store_vector(b, states[first + k], i, outputs[k], "");
  b.line("br label %next");
  b.label("store.tail");
  const std::string mask = tail_mask().text;
  for (std::size_t k = 0; k < outputs.size(); ++k) store_vector(b, states[first + k], i, outputs[k], mask);
  b.line("br label %next");
  b.label("next");
}

void InterleavedPrinter::advance() {
  const std::string phase = scalar_add(b, load_number(phase_), rest_);
  const std::string wraps = b.emit_scalar(fmt::format("icmp sge i64 {}, {}", phase, period_));
  const std::string less = b.emit_scalar(fmt::format("sub i64 {}, {}", phase, period_));
  const std::string next = b.emit_scalar(fmt::format("select i1 {}, i64 {}, i64 {}", wraps, less, phase));
  b.line(fmt::format("store i64 {}, ptr {}", next, phase_));
  if (places_.empty()) return;
  const IrValue places = load_variable(Lane::i32, places_) + rest_of_lanes_;
  const IrValue over = places >= period_of_lanes_;
  store_variable(select(over, places - period_of_lanes_, places), places_);
  for (std::size_t a = 0; a < states.size(); ++a) {
    if (by_lane(a))
      store_variable(load_variable(Lane::i64, offsets_[a]) + select(over, step_over_[a], step_[a]), offsets_[a]);
  }
}

void InterleavedPrinter::print_vector(const std::string& i, const std::string& last) {
  b.line(fmt::format("%left = sub i64 {}, {}", last, i));
  b.line(fmt::format("%full = icmp sge i64 %left, {}", b.width()));
  print_loads(i);
  for (std::size_t a = 0; a < kernel.first_store(); ++a) {
    const Access& access = *states[a].access;
    if (access.iota) values_[a] = {b.splat(Lane::i64, states[a].row) + values_[a][0]};
    if (readings_[a] != Reading::repeated) continue;
    const Lane lane = storage_lane(access.type);
    const std::string from =
        b.emit_scalar(fmt::format("getelementptr {}, ptr {}, i64 {}", name_of(lane), tables_[a], load_number(phase_)));
    values_[a] = {load_plain(b, from, lane, nullptr)};
  }
  BodyPrinter body(b, library, kernel.body, options.contract);
  if (!kernel.body.functions().empty()) body.set_count(scalar_least(b, "%left", fmt::format("{}", b.width())));
  std::vector<DType> types;
  for (std::size_t a = kernel.first_store(); a < kernel.accesses.size(); ++a) types.push_back(kernel.accesses[a].type);
  print_stores(i, body.print({values_, parameters}, types));
  advance();
}

std::string InterleavedPrinter::print(const std::string& entry) {
  b.line("%empty = icmp sge i64 %begin, %end");
  b.line("br i1 %empty, label %exit, label %start");
  b.label("start");
  print_arguments();
  period_ = extents[outer() + 1];
  print_steps();
  const std::string length = scalar_multiply(b, extents[outer()], period_);
  const std::string block = fmt::format("{}", cpu_column_block);
  std::vector<std::string> units(extents.begin(), extents.end() - 2);
  units.push_back(ceil_divide(b, length, block));
  const CarryLoop unit = begin_carry_loop(b, units, "%begin", "%end");
  print_row_bases({unit.coordinates.data(), outer()});
  const std::string first = scalar_multiply(b, unit.coordinates.back(), block);
  const std::string last = scalar_least(b, scalar_add(b, first, block), length);
  start_unit(first);
  const CountedLoop vectors = begin_loop(b, first, last, b.width());
  print_vector(vectors.counter, last);
  end_loop(b, vectors);
  end_carry_loop(b, unit);
  b.line("br label %exit");
  b.label("exit");
  b.line("ret void");
  return module(entry);
}

}  // namespace

bool has_interleaved_rows(const Kernel& kernel) {
  if (kernel.reduced > 0 || kernel.rank < 2 || kernel.accesses.empty()) return false;
  const auto last = static_cast<std::size_t>(kernel.rank) - 1;
  const bool strays = std::any_of(kernel.accesses.begin(), kernel.accesses.end(), [&](const Access& access) {
    return access.gathered || access.is_folded(last) || access.is_folded(last - 1);
  });
  return !strays && std::all_of(kernel.accesses.begin() + static_cast<std::ptrdiff_t>(kernel.first_store()),
                                kernel.accesses.end(), [](const Access& store) { return store.dense_alignment > 0; });
}

std::string print_interleaved(const Kernel& kernel, const EmitOptions& options, const std::string& entry) {
  return InterleavedPrinter(kernel, options).print(entry);
}

}  // namespace kiln::codegen
