// codegen/emit/cuda_scatters.cpp -- values that join elements of memory at computed places, atomically.
#include "codegen/emit/cuda_expression.h"
#include "codegen/emit/cuda_types.h"
#include "codegen/emit/cuda_writer.h"
#include "codegen/schedule/scatter.h"

namespace kiln::codegen::cuda {
namespace {

Op operation_of(Scatter scatter) {
  return scatter == Scatter::add ? Op::add : scatter == Scatter::maximum ? Op::maximum : Op::minimum;
}

const char* name_of(Scatter scatter) {
  return scatter == Scatter::add ? "Add" : scatter == Scatter::maximum ? "Max" : "Min";
}

/// The device has the operation on such words.
bool is_native(DType type, Scatter scatter) {
  if (type == DType::f32 || type == DType::f64 || is_complex(type)) return scatter == Scatter::add;
  return is_integer(type) && size_of(type) >= 4;
}

}  // namespace

/// join(a, b) of two elements in their storage form.
std::string Writer::joined_text(DType type, Scatter scatter, const std::string& a, const std::string& b) {
  Node node{.kind = NodeKind::operation, .type = type, .op = operation_of(scatter), .arity = 2};
  const bool widens = type == DType::f16 || type == DType::bf16;
  const char* prefix = type == DType::f16 ? "f16" : "bf16";
  if (widens) node.type = DType::f32;
  std::string operands[] = {a, b};
  for (std::string& operand : operands)
    if (widens) operand = fmt::format("{}({})", prelude_.use(fmt::format("{}_to_f32", prefix)), operand);
  const DType types[] = {node.type, node.type};
  const std::string text = expression(node, operands, types, prelude_);
  return widens ? fmt::format("{}({})", prelude_.use(fmt::format("f32_to_{}", prefix)), text) : text;
}

/// Defines join_at(to, value) for the elements of access `a`.
void Writer::define_join(std::size_t a) {
  const DType type = kernel_.accesses[a].type;
  const Scatter scatter = kernel_.accesses[a].scatter;
  const char* element = storage_type(type);
  std::string body;
  if (is_complex(type)) {
    body = "  atomicAdd(&to->x, value.x);\n  atomicAdd(&to->y, value.y);\n";
  } else if (is_native(type, scatter)) {
    const char* word = type == DType::i64 && scatter == Scatter::add ? "u64" : element;
    body = fmt::format("  atomic{0}(reinterpret_cast<{1}*>(to), {1}(value));\n", name_of(scatter), word);
  } else if (size_of(type) >= 4) {  // floats, by their bits
    const bool wide = size_of(type) == 8;
    body = fmt::format(
        "  {0}* const word = reinterpret_cast<{0}*>(to);\n  {0} seen = *word, old;\n  do {{\n    old = seen;\n"
        "    const {1} now = {2};\n    seen = atomicCAS(word, old, {0}({3}({4})));\n  }} while (seen != old);\n",
        wide ? "u64" : "u32", element, wide ? "__longlong_as_double(i64(old))" : "__uint_as_float(old)",
        wide ? "__double_as_longlong" : "__float_as_uint", joined_text(type, scatter, "now", "value"));
  } else {  // a part of a word
    const bool one = size_of(type) == 1;
    body = fmt::format(
        "  const u64 address = reinterpret_cast<u64>(to);\n  u32* const word = reinterpret_cast<u32*>(address & "
        "~u64(3));\n"
        "  const u32 shift = u32(address & 3) * 8;\n  u32 seen = *word, old;\n  do {{\n    old = seen;\n"
        "    const {0} now = {0}(old >> shift);\n    const {0} next = {1};\n"
        "    seen = atomicCAS(word, old, (old & ~({2}u << shift)) | (u32({3}(next)) << shift));\n"
        "  }} while (seen != old);\n",
        element, joined_text(type, scatter, "now", "value"), one ? "0xff" : "0xffff", one ? "u8" : "u16");
  }
  definitions_ += fmt::format("DEVICE void join_at({0}* to, {0} value) {{\n{1}}}\n", element, body);
}

/// Joins the current vector of scattering output `a`, or its first `count` elements.
void Writer::scatter_elements(std::size_t a, const std::string& count, const std::string& base) {
  const std::string value = access_name(a) + piece(), at = access_name(a + 1) + piece();
  if (schedule_.vector > 1) unrolled("k", schedule_.vector);
  const std::string k = schedule_.vector > 1 ? "k" : "0";
  const std::string what = counts_ ? "1u" : fmt::format("{}[{}]", value, k);
  line("if ({0}({1}) < {2} && {3}[{1}] >= 0) {4}({5} + {3}[{1}], {6});", index_, k, count, at,
       counts_ ? "atomicAdd" : "join_at", base, what);
  if (schedule_.vector > 1) close();
}

/// Tiles in turn, into sums of the block; then the sums into memory.
void Writer::binned() {
  const std::size_t a = kernel_.first_store();
  const char* element = counts_ ? "u32" : storage(a);
  const bool joins_words = !counts_ && size_of(kernel_.accesses[a].type) < 4;  // what lies around parts of words
  line("{}__shared__ {} bins[{}];", joins_words ? "alignas(4) " : "", element, schedule_.bins);
  line("const u32 count_of_bins = u32({});",
       field(ArgumentKind::parameter, static_cast<std::size_t>(kernel_.bins_parameter)));
  line("u32 copies = {}u;", most_bin_copies);
  line("while (copies > 1 && copies * count_of_bins > {}u) copies /= 2;", schedule_.bins);
  line("for (u32 b = threadIdx.x; b < copies * count_of_bins; b += {}u) bins[b] = {}(0);", schedule_.block, element);
  line("__syncthreads();");
  line("{}* const own = bins + threadIdx.x / 32u % copies * count_of_bins;", element);
  pointers_.clear();
  row_pointers({});
  pointers_[a] = "own";
  const int tile = schedule_.block * schedule_.items * schedule_.vector;
  open(
      fmt::format("for ({0} tile = {0}(blockIdx.x) * {1}u; tile < a.n0; tile += {0}(gridDim.x) * {1}u)", index_, tile));
  line("const {} i = tile + threadIdx.x * {}u;", index_, schedule_.vector);
  open("if (i < a.n0)");
  declare_loads();
  loads();
  compute();
  stores();
  close();
  close();
  line("__syncthreads();");
  std::string value = "sum";
  if (counts_) {
    std::vector<std::string> names(kernel_.body.size());
    const NodeId root = kernel_.body.outputs[0];
    int next = 0;
    for (NodeId id = 0; id <= root; ++id) {
      const NodeKind kind = kernel_.body[id].kind;
      const bool is_number = kind == NodeKind::parameter || kind == NodeKind::literal;
      if (!is_number && !is_below(root, id)) continue;
      if (name_node(kernel_.body, id, names, fmt::format("w{}", next), {})) ++next;
    }
    value = fmt::format("{0}({1}(sum) * {1}({2}))", storage(a), wrapping_type(kernel_.accesses[a].type), names[root]);
  }
  open(fmt::format("for (u32 b = threadIdx.x; b < count_of_bins; b += {}u)", schedule_.block));
  line("{} sum = bins[b];", element);
  const std::string joined = counts_ ? "sum + bins[c * count_of_bins + b]"
                                     : joined_text(kernel_.accesses[a].type, kernel_.accesses[a].scatter, "sum",
                                                   "bins[c * count_of_bins + b]");
  line("for (u32 c = 1; c < copies; ++c) sum = {};", joined);
  line("if (sum != {}(0)) join_at({} + b, {});", element, field(ArgumentKind::pointer, a), value);
  close();
}

/// Does node `root` need node `id`?
bool Writer::is_below(NodeId root, NodeId id) const {
  std::vector<char> needed(kernel_.body.size(), 0);
  needed[root] = 1;
  for (NodeId node = root + 1; node-- > id;)
    if (needed[node])
      for (const NodeId operand : kernel_.body[node].inputs()) needed[operand] = 1;
  return needed[id] != 0;
}

}  // namespace kiln::codegen::cuda
