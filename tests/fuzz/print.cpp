// tests/fuzz/print.cpp -- a program as C++ on the public interface, for a report.
#include <fmt/format.h>

#include "tests/fuzz/combiners.h"
#include "tests/fuzz/execute_reductions.h"
#include "tests/fuzz/program.h"

namespace fuzz {
namespace {

std::string list(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "{" + text + "}";
}

const char* cpp_type(DType type) {
  switch (type) {
    case DType::b1:
      return "bool";
    case DType::i8:
      return "std::int8_t";
    case DType::i16:
      return "std::int16_t";
    case DType::i32:
      return "std::int32_t";
    case DType::i64:
      return "std::int64_t";
    case DType::u8:
      return "std::uint8_t";
    case DType::u16:
      return "std::uint16_t";
    case DType::u32:
      return "std::uint32_t";
    case DType::u64:
      return "std::uint64_t";
    case DType::f16:
      return "kl::half";
    case DType::bf16:
      return "kl::bfloat16";
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    case DType::c64:
      return "std::complex<float>";
    default:
      return "std::complex<double>";
  }
}

std::string shift_text(const View& view, const std::string& argument) {
  constexpr const char* boundaries[] = {"clamp", "wrap", "reflect", "symmetric"};
  const std::vector<std::int64_t> by(view.numbers.begin() + 1, view.numbers.end());
  const auto comma = argument.find(", ");
  if (comma != std::string::npos)
    return fmt::format("kl::shift({}, {}, kl::constant({}))", argument.substr(0, comma), list(by),
                       argument.substr(comma + 2));
  return fmt::format("kl::shift({}, {}, kl::{})", argument, list(by), boundaries[view.numbers[0]]);
}

std::string view_text(const View& view) {
  switch (view.kind) {
    case ViewKind::transpose:
      return ".transpose(" + list(view.numbers) + ")";
    case ViewKind::reshape:
      return ".reshape(" + list(view.numbers) + ")";
    case ViewKind::broadcast_to:
      return ".broadcast_to(" + list(view.numbers) + ")";
    case ViewKind::squeeze:
      return fmt::format(".squeeze({})", view.numbers[0]);
    case ViewKind::unsqueeze:
      return fmt::format(".unsqueeze({})", view.numbers[0]);
    case ViewKind::flip:
      return fmt::format(".flip({})", view.numbers[0]);
    case ViewKind::shift:
    case ViewKind::slice:
      break;
  }
  std::string items;
  for (std::size_t i = 0; i + 3 < view.numbers.size(); i += 4) {
    const std::int64_t flags = view.numbers[i];
    const auto bound = [&](std::int64_t flag, std::int64_t value) {
      return (flags & flag) != 0 ? std::to_string(value) : std::string("kl::none");
    };
    items += fmt::format("{}kl::range({}, {}, {})", items.empty() ? "" : ", ",
                         bound(kiln::detail::slice_has_start, view.numbers[i + 1]),
                         bound(kiln::detail::slice_has_stop, view.numbers[i + 2]), view.numbers[i + 3]);
  }
  return "(" + items + ")";
}

const char* function_name(const Node& node) {
  constexpr const char* scans[] = {"cumsum", "cumprod", "cummax", "cummin"};
  constexpr const char* names[] = {"sum", "prod", "max",    "min",    "mean", "var",       "std_",
                                   "any", "all",  "argmax", "argmin", "norm", "logsumexp", "count_nonzero"};
  return node.kind == NodeKind::scan ? scans[static_cast<int>(node.function)] : names[static_cast<int>(node.function)];
}

std::string operation_name(Op op) {
#define KILN_OP(id, arity, domain, result, cuda, llvm, doc) \
  if (op == Op::id) return #id;
#include <kiln/ops.def>
#undef KILN_OP
  return "?";
}

/// Options of a reduction, each with a comma before it.
std::string options_text(const Program& program, const Node& node) {
  const std::vector<std::int64_t> axes = written_axes(program, node);
  std::string text;
  if (!node.unnamed) text += ", " + (node.kind == NodeKind::scan ? std::to_string(axes[0]) : list(axes));
  if (node.keepdims) text += ", kl::keepdims";
  if (node.ddof != 0) text += fmt::format(", kl::ddof({})", node.ddof);
  if (node.accumulates) text += fmt::format(", kl::accumulate<{}>", cpp_type(node.type));
  return text;
}

std::string reduction_text(const Program& program, const Node& node, const std::string& arguments) {
  if (node.joining == Joining::none)
    return fmt::format("kl::{}({}{})", function_name(node), arguments, options_text(program, node));
  const Combiner& combiner = combiner_of(node.joining);
  Node axes = node;
  axes.keepdims = false;
  std::string identity = identity_text(node.joining, 0);
  if (combiner.count == 2) identity += std::string(", ") + identity_text(node.joining, 1);
  const bool tuple = combiner.count > 1;
  const std::string call = fmt::format("kl::{}({}{}{}{}{}{}, {}{})", node.kind == NodeKind::scan ? "scan" : "reduce",
                                       tuple ? "std::tuple(" : "", arguments, tuple ? ")" : "",
                                       options_text(program, axes), node.has_identity ? ", " : ", no identity",
                                       !node.has_identity ? ""
                                       : tuple            ? "std::tuple(" + identity + ")"
                                                          : identity,
                                       combiner.text, node.keepdims ? ", kl::keepdims" : "");
  return tuple ? fmt::format("std::get<{}>({})", node.component, call) : call;
}

std::string node_text(const Program& program, const Node& node) {
  std::string arguments;
  for (const int input : node.inputs) arguments += fmt::format("{}v{}", arguments.empty() ? "" : ", ", input);
  switch (node.kind) {
    case NodeKind::operand:
      return fmt::format("x{}", node.slot);
    case NodeKind::scalar:
      return fmt::format("kl::scalar<{}>({})", cpp_type(node.type), node.value);
    case NodeKind::literal:
      return fmt::format("kl::lit({}({}))", cpp_type(node.type), node.value);
    case NodeKind::operation:
      return fmt::format("{}({})", operation_name(node.op), arguments);
    case NodeKind::cast:
      return fmt::format("kl::cast<{}>({})", cpp_type(node.type), arguments);
    case NodeKind::view:
      return node.view.kind == ViewKind::shift ? shift_text(node.view, arguments) : arguments + view_text(node.view);
    case NodeKind::index:
      return fmt::format("kl::index({}, {})", arguments, node.axes[0]);
    case NodeKind::take: {
      constexpr const char* modes[] = {"", ", kl::OutOfRange::clip", ", kl::OutOfRange::wrap"};
      return fmt::format("kl::take({}, {}{})", arguments, node.axes[0], modes[node.mode]);
    }
    case NodeKind::reduce:
    case NodeKind::scan:
      return reduction_text(program, node, arguments);
  }
  return "?";
}

}  // namespace

std::string to_text(const Program& program) {
  std::string text = fmt::format("// seed {}\n", program.seed);
  for (std::size_t i = 0; i < program.operands.size(); ++i) {
    const Operand& operand = program.operands[i];
    if (operand.memory >= 0) {
      text += fmt::format("auto x{} = b{}", i, operand.memory);
    } else {
      text += fmt::format("kl::Array<{}> b{}({});  // values of seed {}{}\nauto x{} = b{}", cpp_type(operand.type), i,
                          list(operand.base), operand.seed, operand.special ? ", with NaN and infinities" : "", i, i);
    }
    for (const View& view : operand.views) text += view_text(view);
    text += fmt::format(";  // shape {}\n", list(operand.shape));
  }
  for (std::size_t n = 0; n < program.nodes.size(); ++n) {
    const Node& node = program.nodes[n];
    text += fmt::format("auto v{} = {};  // {} {}\n", n, node_text(program, node), kiln::name_of(node.type),
                        list(node.shape));
  }
  for (const Output& output : program.outputs) {
    if (output.destination >= 0)
      text += fmt::format("x{} = v{};\n", output.destination, output.node);
    else
      text += fmt::format("kl::eval(v{});\n", output.node);
  }
  if (!program.contract) text += "// with kl::Options{.contract = false}\n";
  return text + (program.outputs.size() > 1 ? "// all outputs by one kl::eval(kl::tie(...), ...)\n" : "");
}

}  // namespace fuzz
