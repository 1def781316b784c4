// codegen/emit/llvm_kernel.cpp -- arguments of a CPU kernel and the frame of its module.
#include "codegen/emit/llvm_kernel.h"

#include <algorithm>

#include <fmt/format.h>

#include "codegen/emit/llvm_call.h"
#include "codegen/emit/llvm_declarations.h"

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

/// Fewer functions than these are inlined; of more, each call would add to a compile time that is no longer linear.
bool inlines_functions(const Graph& body) {
  constexpr std::ptrdiff_t limit = 64;
  const auto is_function = [](const Node& node) {
    if (node.kind != NodeKind::operation || !is_floating(node.type)) return false;
    return (node.op > Op::sqrt && node.op <= Op::tgamma) || node.op == Op::pow || node.op == Op::hypot ||
           node.op == Op::fmod;
  };
  return std::count_if(body.nodes().begin(), body.nodes().end(), is_function) <= limit;
}

}  // namespace

KernelFrame::KernelFrame(const Kernel& described, const EmitOptions& chosen)
    : kernel(described),
      options(chosen),
      features(parse_cpu_features(chosen.cpu_features)),
      b(choose_width(described, features), features),
      library(b.width(), features, inlines_functions(described.body)),
      states(described.accesses.size()),
      extents(static_cast<std::size_t>(described.rank)),
      parameters(described.parameters.size()) {
  for (std::size_t a = 0; a < states.size(); ++a) {
    states[a].access = &kernel.accesses[a];
    states[a].vector_axis = kernel.accesses[a].axes.empty() ? 0 : kernel.accesses[a].axes.size() - 1;
  }
  if (!kernel.body.functions().empty()) variable_text += call_block_variable(b.width());
}

void KernelFrame::print_arguments() {
  const char* index = kernel.index == IndexWidth::bits32 ? "i32" : "i64";
  const auto load = [&](std::uint32_t offset, const char* type) {
    const std::string p = b.emit_scalar(fmt::format("getelementptr i8, ptr %arguments, i64 {}", offset));
    return b.emit_scalar(fmt::format("load {}, ptr {}, !invariant.load !1", type, p));
  };
  const auto load_index = [&](const Argument& argument) {
    const std::string raw = load(argument.offset, index);
    return kernel.index == IndexWidth::bits64 ? raw : b.emit_scalar(fmt::format("sext i32 {} to i64", raw));
  };
  for (const Argument& argument : argument_layout(kernel).arguments) {
    AccessState* state = argument.a < states.size() ? &states[argument.a] : nullptr;
    switch (argument.kind) {
      case ArgumentKind::pointer:
        state->base = load(argument.offset, "ptr");
        break;
      case ArgumentKind::offset:
        state->base = load(argument.offset, "i64");
        break;
      case ArgumentKind::extent:
        extents[argument.axis] = load_index(argument);
        break;
      case ArgumentKind::stride: {
        const std::string elements = load_index(argument);
        const std::size_t bytes = state->access->iota ? 1 : size_of(state->access->type);
        state->strides[argument.axis] = b.emit_scalar(fmt::format("mul i64 {}, {}", elements, bytes));
        break;
      }
      case ArgumentKind::workspace:
        workspace = load(argument.offset, "ptr");
        break;
      case ArgumentKind::function:
        b.line(fmt::format("{} = getelementptr i8, ptr {}, i64 0", host_call_register(argument.a),
                           load(argument.offset, "ptr")));
        break;
      case ArgumentKind::fold_start:
        state->folds[argument.axis].start = load_index(argument);
        break;
      case ArgumentKind::fold_step:
        state->folds[argument.axis].step = load_index(argument);
        break;
      case ArgumentKind::fold_length:
        state->folds[argument.axis].length = load_index(argument);
        break;
      case ArgumentKind::divisor:
      case ArgumentKind::counters:
        break;
      case ArgumentKind::parameter: {
        const DType type = compute_type(kernel.parameters[argument.a]);
        const Lane lane = storage_lane(type);
        for (int part = 0; part < part_count(type); ++part) {
          const auto offset = argument.offset + static_cast<std::uint32_t>(part * bytes_of(lane));
          parameters[argument.a].push_back(b.splat(lane, load(offset, name_of(lane))));
        }
        break;
      }
    }
  }
}

void KernelFrame::print_lane_offsets() {
  const IrValue lanes = b.lane_numbers(Lane::i64);
  for (AccessState& state : states) {
    const bool strided = state.inner() == AxisClass::strided;
    if (strided) {
      state.lane_offsets = lanes * b.splat(Lane::i64, state.stride(state.vector_axis));
    } else if (state.access->iota) {
      state.lane_offsets = lanes;
    }
  }
}

void KernelFrame::print_row_bases(std::span<const std::string> coordinates) {
  for (AccessState& state : states) {
    state.row = state.base;
    for (std::size_t d = 0; d < coordinates.size(); ++d) {
      if (state.access->axes[d] == AxisClass::broadcast) continue;
      const std::string at = state.access->is_folded(d) ? folded_position(b, state, d, coordinates[d]) : coordinates[d];
      const std::string step = b.emit_scalar(fmt::format("mul i64 {}, {}", at, state.stride(d)));
      state.row = b.emit_scalar(state.access->iota ? fmt::format("add i64 {}, {}", state.row, step)
                                                   : fmt::format("getelementptr i8, ptr {}, i64 {}", state.row, step));
    }
  }
}

std::string KernelFrame::variable(const std::string& type) {
  std::string name = b.fresh("v");
  variable_text += fmt::format("  {} = alloca {}, align 64\n", name, type);
  return name;
}

std::string KernelFrame::module(const std::string& entry) const {
  const int bytes = std::max(16, features.vector_bits / 8);
  return fmt::format(
      "; {comment}\n; CPU kernel, {width} lanes; features: {features}\n\n"
      "define void @{entry}(ptr %arguments, i64 %begin, i64 %end, ptr %libm) #0 "
      "{{\nentry:\n{variables}{body}}}\n{maths}\n{declarations}\n"
      "attributes #0 = {{ nounwind alignstack=64 \"no-builtins\" \"prefer-vector-width\"=\"{bits}\" "
      "\"min-legal-vector-width\"=\"{bits}\" }}\n"
      "attributes #1 = {{ alwaysinline nounwind \"no-builtins\" \"min-legal-vector-width\"=\"{bits}\" }}\n"
      "attributes #2 = {{ noinline cold nounwind alignstack=64 \"no-builtins\" \"prefer-vector-width\"=\"{bits}\" "
      "\"min-legal-vector-width\"=\"{bits}\" }}\n"
      "attributes #3 = {{ noinline nounwind alignstack=64 \"no-builtins\" \"prefer-vector-width\"=\"{bits}\" "
      "\"min-legal-vector-width\"=\"{bits}\" }}\n"
      "!0 = !{{!\"branch_weights\", i32 2000, i32 1}}\n!1 = !{{}}\n",
      fmt::arg("comment", kernel.comment), fmt::arg("width", b.width()), fmt::arg("features", options.cpu_features),
      fmt::arg("entry", entry), fmt::arg("variables", variable_text), fmt::arg("body", b.text()),
      fmt::arg("maths", library.definitions()),
      fmt::arg("declarations", intrinsic_declarations(b.text() + library.definitions())), fmt::arg("bits", bytes * 8));
}

}  // namespace kiln::codegen
