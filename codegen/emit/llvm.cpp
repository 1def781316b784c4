// codegen/emit/llvm.cpp -- the CPU loop nest: units, rows, vectors and tails around a kernel body, as LLVM IR text.
#include <algorithm>

#include "codegen/emit/emit.h"
#include "codegen/emit/llvm_declarations.h"
#include "codegen/emit/llvm_ops.h"
#include "support/check.h"

namespace kiln::codegen {
namespace {

/// Lanes per vector: a full register of the widest element, at most 32 bits wide so that mixed kernels stay wide.
int choose_width(const Kernel& kernel, const CpuFeatures& features) {
  std::size_t bytes = 1;
  for (const Node& node : kernel.body.nodes()) {
    if (node.type != DType::b1) bytes = std::max(bytes, size_of(real_of(node.type)));
  }
  return features.vector_bits / 8 / static_cast<int>(std::min<std::size_t>(bytes, 4));
}

class KernelPrinter {
 public:
  KernelPrinter(const Kernel& kernel, const EmitOptions& options)
      : kernel_(kernel),
        options_(options),
        features_(parse_cpu_features(options.cpu_features)),
        b_(choose_width(kernel, features_), features_),
        library_(b_.width(), features_),
        states_(kernel.accesses.size()),
        extents_(static_cast<std::size_t>(kernel.rank)),
        parameters_(kernel.parameters.size()),
        values_(kernel.accesses.size()) {}

  std::string print(const std::string& entry);

 private:
  bool has_rows() const { return kernel_.rank >= 2; }
  std::size_t outer() const { return has_rows() ? static_cast<std::size_t>(kernel_.rank) - 1 : 0; }
  void print_arguments();
  void print_lane_offsets();
  void begin_rows();
  void end_rows();
  void print_row_bases();
  void print_inner_loop();
  void print_loads();
  void print_stores(const std::vector<Parts>& outputs);
  IrValue print_mask();
  bool loads_vector(std::size_t a) const {
    const AccessState& state = states_[a];
    return !state.access->store && !state.access->iota && state.inner() != AxisClass::broadcast;
  }

  const Kernel& kernel_;
  const EmitOptions& options_;
  CpuFeatures features_;
  IrBuilder b_;
  MathLibrary library_;
  std::vector<AccessState> states_;
  std::vector<std::string> extents_;
  std::vector<Parts> parameters_;
  std::vector<Parts> values_;             ///< per access: what the body reads
  std::vector<std::string> coordinates_;  ///< of the current row, outer axes
};

void KernelPrinter::print_arguments() {
  const char* index = kernel_.index == IndexWidth::bits32 ? "i32" : "i64";
  const auto load = [&](std::uint32_t offset, const char* type) {
    const std::string p = b_.emit_scalar(fmt::format("getelementptr i8, ptr %arguments, i64 {}", offset));
    return b_.emit_scalar(fmt::format("load {}, ptr {}, !invariant.load !1", type, p));
  };
  const auto load_index = [&](const Argument& argument) {
    const std::string raw = load(argument.offset, index);
    return kernel_.index == IndexWidth::bits64 ? raw : b_.emit_scalar(fmt::format("sext i32 {} to i64", raw));
  };
  for (std::size_t a = 0; a < states_.size(); ++a) states_[a].access = &kernel_.accesses[a];
  for (const Argument& argument : argument_layout(kernel_).arguments) {
    AccessState* state = argument.a < states_.size() ? &states_[argument.a] : nullptr;
    switch (argument.kind) {
      case ArgumentKind::pointer:
        state->base = load(argument.offset, "ptr");
        break;
      case ArgumentKind::offset:
        state->base = load(argument.offset, "i64");
        break;
      case ArgumentKind::extent:
        extents_[argument.axis] = load_index(argument);
        break;
      case ArgumentKind::stride: {
        const std::string elements = load_index(argument);
        const std::size_t bytes = state->access->iota ? 1 : size_of(state->access->type);
        state->strides[argument.axis] = b_.emit_scalar(fmt::format("mul i64 {}, {}", elements, bytes));
        break;
      }
      case ArgumentKind::divisor:
      case ArgumentKind::workspace:
      case ArgumentKind::counters:
        break;
      case ArgumentKind::parameter: {
        const DType type = compute_type(kernel_.parameters[argument.a]);
        const Lane lane = storage_lane(type);
        for (int part = 0; part < part_count(type); ++part) {
          const auto offset = argument.offset + static_cast<std::uint32_t>(part * bytes_of(lane));
          parameters_[argument.a].push_back(b_.splat(lane, load(offset, name_of(lane))));
        }
        break;
      }
    }
  }
}

void KernelPrinter::print_lane_offsets() {
  const IrValue lanes = b_.lane_numbers(Lane::i64);
  for (AccessState& state : states_) {
    const bool strided = state.inner() == AxisClass::strided;
    if (strided) {
      state.lane_offsets = lanes * b_.splat(Lane::i64, state.stride(state.access->axes.size() - 1));
    } else if (state.access->iota) {
      state.lane_offsets = lanes;
    }
  }
}

/// Opens the loop over units: %u counts them, %block is the column block, %cK the row's coordinates; all advance by
/// carry.
void KernelPrinter::begin_rows() {
  const std::size_t count = outer();
  const std::string& inner = extents_[count];
  b_.line(fmt::format("%padded = add i64 {}, {}", inner, cpu_column_block - 1));
  b_.line(fmt::format("%blocks = udiv i64 %padded, {}", cpu_column_block));
  b_.line("%firstblock = urem i64 %begin, %blocks");
  std::string rest = b_.emit_scalar("udiv i64 %begin, %blocks");
  std::vector<std::string> first(count);
  for (std::size_t d = count; d-- > 0;) {
    first[d] = d == 0 ? rest : b_.emit_scalar(fmt::format("urem i64 {}, {}", rest, extents_[d]));
    if (d) rest = b_.emit_scalar(fmt::format("udiv i64 {}, {}", rest, extents_[d]));
  }
  const std::string from = b_.block();
  b_.line("br label %unit");
  b_.label("unit");
  b_.line(fmt::format("%u = phi i64 [ %begin, %{} ], [ %u.next, %unit.end ]", from));
  b_.line(fmt::format("%block = phi i64 [ %firstblock, %{} ], [ %block.next, %unit.end ]", from));
  for (std::size_t d = 0; d < count; ++d) {
    b_.line(fmt::format("%c{0} = phi i64 [ {1}, %{2} ], [ %c{0}.next, %unit.end ]", d, first[d], from));
    coordinates_.push_back(fmt::format("%c{}", d));
  }
  b_.line(fmt::format("%i.first = mul i64 %block, {}", cpu_column_block));
  b_.line(fmt::format("%i.limit = add i64 %i.first, {}", cpu_column_block));
  b_.line(fmt::format("%i.last = call i64 @llvm.smin.i64(i64 %i.limit, i64 {})", inner));
}

void KernelPrinter::end_rows() {
  b_.label("unit.end");
  b_.line("%u.next = add i64 %u, 1");
  b_.line("%block.one = add i64 %block, 1");
  b_.line("%block.wrap = icmp eq i64 %block.one, %blocks");
  b_.line("%block.next = select i1 %block.wrap, i64 0, i64 %block.one");
  std::string carry = "%block.wrap";
  for (std::size_t d = outer(); d-- > 0;) {
    const std::string step = b_.emit_scalar(fmt::format("zext i1 {} to i64", carry));
    const std::string sum = b_.emit_scalar(fmt::format("add i64 %c{}, {}", d, step));
    carry = b_.emit_scalar(fmt::format("icmp eq i64 {}, {}", sum, extents_[d]));
    b_.line(fmt::format("%c{}.next = select i1 {}, i64 0, i64 {}", d, carry, sum));
  }
  b_.line("%u.more = icmp slt i64 %u.next, %end");
  b_.line("br i1 %u.more, label %unit, label %exit");
}

void KernelPrinter::print_row_bases() {
  for (AccessState& state : states_) {
    state.row = state.base;
    for (std::size_t d = 0; d < outer(); ++d) {
      if (state.access->axes[d] == AxisClass::broadcast) continue;
      const std::string step = b_.emit_scalar(fmt::format("mul i64 {}, {}", coordinates_[d], state.stride(d)));
      state.row = b_.emit_scalar(state.access->iota ? fmt::format("add i64 {}, {}", state.row, step)
                                                    : fmt::format("getelementptr i8, ptr {}, i64 {}", state.row, step));
    }
  }
  for (std::size_t a = 0; a < states_.size(); ++a) {
    const AccessState& state = states_[a];
    if (!state.access->store && !state.access->iota && !loads_vector(a)) values_[a] = load_broadcast(b_, state);
  }
}

IrValue KernelPrinter::print_mask() {
  const std::string left = b_.emit_scalar("trunc i64 %left to i32");
  return b_.lane_numbers(Lane::i32) < b_.splat(Lane::i32, left);
}

/// Full vectors load at once; the last, partial one loads through a mask. Both meet before the body.
void KernelPrinter::print_loads() {
  std::vector<Parts> full(states_.size()), tail(states_.size());
  const auto moves_iota = [&](std::size_t a) {
    return states_[a].access->iota && states_[a].inner() != AxisClass::broadcast;
  };
  b_.label("load.full");
  for (std::size_t a = 0; a < states_.size(); ++a) {
    if (loads_vector(a)) full[a] = load_vector(b_, states_[a], "%i", "");
  }
  b_.line("br label %body");
  b_.label("load.tail");
  const IrValue mask = print_mask();
  for (std::size_t a = 0; a < states_.size(); ++a) {
    if (loads_vector(a)) tail[a] = load_vector(b_, states_[a], "%i", mask.text);
    // Lanes past the end repeat the first: an iota stays in its range, on which divisions without guards rely.
    if (moves_iota(a)) tail[a] = {select(mask, states_[a].lane_offsets, b_.bits(Lane::i64, 0))};
    if (moves_iota(a)) full[a] = {states_[a].lane_offsets};
  }
  b_.line("br label %body");
  b_.label("body");
  for (std::size_t a = 0; a < states_.size(); ++a) {
    if (full[a].empty()) continue;
    values_[a].clear();
    for (std::size_t part = 0; part < full[a].size(); ++part) {
      const Lane lane = full[a][part].lane;
      values_[a].push_back(b_.emit(lane, fmt::format("phi {} [ {}, %load.full ], [ {}, %load.tail ]", b_.type(lane),
                                                     full[a][part].text, tail[a][part].text)));
    }
  }
  for (std::size_t a = 0; a < states_.size(); ++a) {
    if (!states_[a].access->iota) continue;
    values_[a] = {iota_vector(b_, states_[a], "%i", moves_iota(a) ? values_[a][0] : IrValue{})};
  }
}

void KernelPrinter::print_stores(const std::vector<Parts>& outputs) {
  const std::size_t first = kernel_.first_store();
  b_.line("br i1 %full, label %store.full, label %store.tail, !prof !0");
  b_.label("store.full");
  for (std::size_t k = 0; k < outputs.size(); ++k) store_vector(b_, states_[first + k], "%i", outputs[k], "");
  b_.line("br label %next");
  b_.label("store.tail");
  const std::string mask = print_mask().text;
  for (std::size_t k = 0; k < outputs.size(); ++k) store_vector(b_, states_[first + k], "%i", outputs[k], mask);
  b_.line("br label %next");
  b_.label("next");
}

void KernelPrinter::print_inner_loop() {
  const std::string from = b_.block(), begin = has_rows() ? "%i.first" : "%begin",
                    end = has_rows() ? "%i.last" : "%end";
  b_.line("br label %inner");
  b_.label("inner");
  b_.line(fmt::format("%i = phi i64 [ {}, %{} ], [ %i.next, %next ]", begin, from));
  b_.line(fmt::format("%left = sub i64 {}, %i", end));
  b_.line(fmt::format("%full = icmp sge i64 %left, {}", b_.width()));
  b_.line("br i1 %full, label %load.full, label %load.tail, !prof !0");
  print_loads();
  BodyPrinter body(b_, library_, kernel_.body, options_.contract);
  std::vector<DType> types;
  for (std::size_t a = kernel_.first_store(); a < kernel_.accesses.size(); ++a)
    types.push_back(kernel_.accesses[a].type);
  print_stores(body.print({values_, parameters_}, types));
  b_.line(fmt::format("%i.next = add i64 %i, {}", b_.width()));
  b_.line(fmt::format("%i.more = icmp slt i64 %i.next, {}", end));
  b_.line(fmt::format("br i1 %i.more, label %inner, label %{}", has_rows() ? "unit.end" : "exit"));
}

std::string KernelPrinter::print(const std::string& entry) {
  b_.line("%empty = icmp sge i64 %begin, %end");
  b_.line("br i1 %empty, label %exit, label %start");
  b_.label("start");
  print_arguments();
  print_lane_offsets();
  if (has_rows()) begin_rows();
  print_row_bases();
  print_inner_loop();
  if (has_rows()) end_rows();
  b_.label("exit");
  b_.line("ret void");
  const int bytes = std::max(16, features_.vector_bits / 8);
  return fmt::format(
      "; {comment}\n; CPU kernel, {width} lanes; features: {features}\n\n"
      "define void @{entry}(ptr %arguments, i64 %begin, i64 %end, ptr %libm) #0 "
      "{{\nentry:\n{body}}}\n{maths}\n{declarations}\n"
      "attributes #0 = {{ nounwind alignstack=64 \"no-builtins\" \"prefer-vector-width\"=\"{bits}\" "
      "\"min-legal-vector-width\"=\"{bits}\" }}\n"
      "attributes #1 = {{ alwaysinline nounwind \"no-builtins\" \"min-legal-vector-width\"=\"{bits}\" }}\n"
      "attributes #2 = {{ noinline cold nounwind alignstack=64 \"no-builtins\" \"prefer-vector-width\"=\"{bits}\" "
      "\"min-legal-vector-width\"=\"{bits}\" }}\n"
      "!0 = !{{!\"branch_weights\", i32 2000, i32 1}}\n!1 = !{{}}\n",
      fmt::arg("comment", kernel_.comment), fmt::arg("width", b_.width()), fmt::arg("features", options_.cpu_features),
      fmt::arg("entry", entry), fmt::arg("body", b_.text()), fmt::arg("maths", library_.definitions()),
      fmt::arg("declarations", intrinsic_declarations(b_.text() + library_.definitions())),
      fmt::arg("bits", bytes * 8));
}

}  // namespace

KernelSource emit_llvm(const Kernel& kernel, const Schedule&, const EmitOptions& options) {
  KernelSource source;
  source.language = Language::llvm_ir;
  source.entry = "kiln_kernel";
  source.argument_bytes = argument_layout(kernel).size;
  source.text = KernelPrinter(kernel, options).print(source.entry);
  return source;
}

std::int64_t cpu_units(const Kernel& kernel, const Extents& extents) {
  if (kernel.rank == 0) return 1;
  if (kernel.rank == 1) return extents.loop[0];
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis + 1 < extents.loop.size(); ++axis) rows *= extents.loop[axis];
  return rows * ((extents.loop.back() + cpu_column_block - 1) / cpu_column_block);
}

}  // namespace kiln::codegen
