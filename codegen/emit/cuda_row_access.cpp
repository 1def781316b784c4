// codegen/emit/cuda_row_access.cpp -- positions along a row, and what a thread reads and writes there.
#include <algorithm>
#include <iterator>

#include "codegen/emit/cuda_row_reduction.h"
#include "codegen/emit/cuda_types.h"

namespace kiln::codegen::cuda {
namespace {

/// Values of 16 bits per thread that are kept in 32 bits between all passes; of twice as many, those of the second pass
/// are kept for later ones.
constexpr int kept_unpacked = 16;

}  // namespace

std::string RowWriter::tile_size() const {
  return fmt::format("{}u", schedule_.lanes * schedule_.items * schedule_.vector);
}

RowWriter::Range RowWriter::vectors() const {
  if (part_ != Part::shared) return {part_ == Part::all ? 0 : schedule_.tile, schedule_.items};
  if (chunk_ < 0) return {0, schedule_.tile};
  return {chunk_ * chunk_vectors, std::min(schedule_.tile, (chunk_ + 1) * chunk_vectors)};
}

/// `first` is the position of the tile; rows that are held begin at 0.
void RowWriter::open_vectors(std::span<const std::size_t> accesses, bool compared) {
  if (part_ != Part::all) {
    text_ += part_ == Part::shared && chunk_ < 0 ? "#pragma unroll 4\n" : "#pragma unroll\n";
    open(fmt::format("for (int u = {}; u < {}; ++u)", vectors().first, vectors().end));
  } else if (schedule_.items > 1) {
    unrolled("u", schedule_.items);
  } else {
    line("{{");
    ++indent_;
  }
  if (accesses.empty() && !compared) return;
  const std::string vector = schedule_.items > 1 ? fmt::format("(u * {}u + lane)", schedule_.lanes) : "lane";
  const std::string within = schedule_.vector > 1 ? fmt::format("{} * {}u", vector, schedule_.vector) : vector;
  line("const {} j = {}{};", index_, schedule_.resident ? "" : "first + ", within);
  if (accesses.empty() || kernel_.reduced == 1) return;
  const auto moves = [&](std::size_t axis) {
    return std::any_of(accesses.begin(), accesses.end(),
                       [&](std::size_t a) { return kernel_.accesses[a].axes[axis] != AxisClass::broadcast; });
  };
  std::string rest = "j";
  for (int inner = kernel_.rank - 1; inner > kept(); --inner) {
    const auto axis = static_cast<std::size_t>(inner);
    const std::string quotient =
        kernel_.index == IndexWidth::bits64
            ? fmt::format("{}({}, {})", prelude_.use("divide64"), rest, extent(axis))
            : fmt::format("{}({}, {})", prelude_.use("divide"), rest, field(ArgumentKind::divisor, 0, axis));
    line("const {} p{} = {};", index_, axis, quotient);
    if (moves(axis)) line("const {0} c{1} = {2} - p{1} * {3};", index_, axis, rest, extent(axis));
    rest = fmt::format("p{}", axis);
  }
  if (moves(static_cast<std::size_t>(kept()))) line("const {} c{} = {};", index_, kept(), rest);
}

/// Address of the current vector of access `a`, or the value of an iota at its first element.
std::string RowWriter::place(std::size_t a) const {
  const std::string type = is_iota(a) ? "i64" : step_;
  if (kernel_.reduced > 1) {
    std::vector<int> axes;
    for (int axis = kept(); axis < kernel_.rank; ++axis) axes.push_back(axis);
    return pointers_[a] + outer_offset(a, axes);
  }
  switch (inner_class(a)) {
    case AxisClass::broadcast:
      return pointers_[a];
    case AxisClass::contiguous:
      return fmt::format("{} + {}", pointers_[a], is_iota(a) ? "i64(j)" : "j");
    case AxisClass::strided:
      return fmt::format("{} + {}(j) * {}", pointers_[a], type, stride(a, last()));
  }
  return {};
}

std::string RowWriter::element_stride(std::size_t a) const {
  switch (inner_class(a)) {
    case AxisClass::broadcast:
      return "0";
    case AxisClass::contiguous:
      return "1";
    case AxisClass::strided:
      return stride(a, last());
  }
  return {};
}

std::vector<std::size_t> RowWriter::loads_below(std::span<const NodeId> roots) const {
  const Graph& graph = kernel_.body;
  std::vector<char> needed(graph.size(), 0);
  for (const NodeId root : roots) needed[root] = 1;
  std::vector<std::size_t> loads;
  for (NodeId id = graph.size(); id-- > 0;) {
    if (!needed[id] || !stages_.per_element[id]) continue;
    if (graph[id].kind == NodeKind::load || graph[id].kind == NodeKind::iota)
      loads.push_back(static_cast<std::size_t>(graph[id].payload));
    for (const NodeId operand : graph[id].inputs()) needed[operand] = 1;
  }
  std::sort(loads.begin(), loads.end());
  return loads;
}

void RowWriter::declare_loads(std::span<const std::size_t> loads) {
  const std::string vector_count = vector_piece().empty() ? "" : fmt::format("[{}]", schedule_.items - schedule_.tile);
  for (const std::size_t a : loads) {
    if (is_iota(a)) continue;
    const std::string rows = several_rows() && schedule_.resident ? fmt::format("[{}]", schedule_.rows) : "";
    if (is_packed(a)) {
      line("u32 {}{}{}{}[{}];", access_name(a), suffix_, rows, vector_count, schedule_.vector / 2);
    } else {
      line("{} {}{}{}{}[{}];", storage(a), access_name(a), suffix_, rows, vector_count, schedule_.vector);
    }
  }
}

void RowWriter::load_vectors(std::span<const std::size_t> loads, bool predicated) {
  std::vector<std::size_t> reads;
  std::copy_if(loads.begin(), loads.end(), std::back_inserter(reads), [&](std::size_t a) { return !is_iota(a); });
  if (reads.empty()) return;
  open_vectors(reads, predicated);
  for (const std::size_t a : reads) load_vector(a, predicated);
  close();
}

/// What the current vector of load `a` was read into.
std::string RowWriter::local_vector(std::size_t a) const {
  if ((schedule_.resident && is_late(a)) || part_ == Part::shared) return access_name(a);
  return access_name(a) + suffix_ + (schedule_.resident ? row_piece() : "") + vector_piece();
}

bool RowWriter::is_packed(std::size_t a) const {
  const DType type = kernel_.accesses[a].type;
  return (type == DType::f16 || type == DType::bf16) && !is_store(a) && !(schedule_.resident && is_late(a)) &&
         inner_class(a) == AxisClass::contiguous && access_width(a, schedule_.vector) > 1 && part_ != Part::shared;
}

/// Where many values are held, each pass unpacks them by a number that the compiler does not know to be 1: it would
/// keep the unpacked values of the first pass, in twice the registers.
std::string RowWriter::special_text(NodeId id) {
  const Node& node = kernel_.body[id];
  if (const std::string text = division_text(id); !text.empty()) return text;
  if (const std::string text = term_text(id); !text.empty()) return text;
  if (node.kind != NodeKind::cast || node.type != DType::f32) return "";
  const Node& operand = kernel_.body[node.operands[0]];
  const auto a = static_cast<std::size_t>(operand.payload);
  if (operand.kind != NodeKind::load || !is_packed(a)) return "";
  return fmt::format("{}({}, {}, {})", prelude_.use(operand.type == DType::f16 ? "f16_of" : "bf16_of"), local_vector(a),
                     schedule_.vector > 1 ? "k" : "0", unknown_one());
}

/// 1, for the stage at hand: always known where few values are held, else other ones than in earlier stages.
std::string RowWriter::unknown_one() const {
  static constexpr const char* ones[] = {"gridDim.y", "gridDim.z", "blockDim.y", "blockDim.z"};
  const int values = schedule_.rows * schedule_.items * schedule_.vector;
  if (values <= kept_unpacked || stage_ == 0) return "1u";
  if (!schedule_.resident) return ones[2 + stage_ % 2];  // grid y may count rows
  const char* one = ones[(stage_ - 1) % 4];
  if (values > 2 * kept_unpacked || stage_ == 1) return one;
  // A row on its way takes registers too: half of the values are kept.
  return prefetches() ? fmt::format("u < {} ? {} : {}", kept_unpacked / schedule_.vector, ones[0], one) : ones[0];
}

/// The maximum of a vector of 16-bit floats, two at a time, or "" where `id` is none.
std::string RowWriter::packed_maximum(NodeId id) {
  const Node& value = kernel_.body[id];
  if (value.kind != NodeKind::cast || value.type != DType::f32) return "";
  const Node& operand = kernel_.body[value.operands[0]];
  const auto a = static_cast<std::size_t>(operand.payload);
  if (operand.kind != NodeKind::load || !is_packed(a)) return "";
  return fmt::format("{}({})", prelude_.use(operand.type == DType::f16 ? "maximum_of_f16" : "maximum_of_bf16"),
                     local_vector(a));
}

/// Places past the end are not read; there the values are zero.
void RowWriter::load_vector(std::size_t a, bool predicated) {
  const std::string local = local_vector(a);
  const bool contiguous = inner_class(a) == AxisClass::contiguous && !is_underaligned(a);
  const int width = contiguous ? access_width(a, schedule_.vector) : 1;
  const bool packed = is_packed(a);
  const std::string from = packed ? fmt::format("reinterpret_cast<const u32*>({})", place(a)) : place(a);
  if (contiguous && (!predicated || schedule_.whole_vectors)) {
    const std::string inside = predicated ? fmt::format(", j < {}", length()) : "";
    line("{}<{}>({}, {}{});", prelude_.use(predicated ? "read_if" : "read"), packed ? width / 2 : width, local, from,
         inside);
    return;
  }
  const std::string count =
      predicated ? fmt::format("{0} - (j < {0} ? j : {0})", length()) : fmt::format("{}u", schedule_.vector);
  if (!packed) {
    line("{}({}, {}, {}, {});", prelude_.use("gather"), local, place(a), element_stride(a), count);
    return;
  }
  line("u16 {}_halves[{}];", access_name(a), schedule_.vector);
  line("{}({}_halves, {}, {}, {});", prelude_.use("gather"), access_name(a), place(a), element_stride(a), count);
  line("{0}({1}, {2}_halves);", prelude_.use("pack"), local, access_name(a));
}

void RowWriter::store_vector(std::size_t a, bool predicated) {
  const std::string local = access_name(a);
  if (rounds(a)) {
    const char* function = kernel_.accesses[a].type == DType::f16 ? "round_f16" : "round_bf16";
    line("{0}({1}, {1}_f32);", prelude_.use(function), local);
  }
  const bool contiguous = inner_class(a) == AxisClass::contiguous && !is_underaligned(a);
  std::string condition = predicated ? fmt::format("j < {}", length()) : "";
  if (shares_block()) condition += condition.empty() ? "inside" : " && inside";
  if (contiguous && (!predicated || schedule_.whole_vectors)) {
    line("{}{}<{}>({}, {});", condition.empty() ? "" : "if (" + condition + ") ", prelude_.use("write"),
         access_width(a, schedule_.vector), place(a), local);
  } else {
    const std::string count = predicated ? length() + " - j" : fmt::format("{}u", schedule_.vector);
    line("{}{}({}, {}, {}, {});", condition.empty() ? "" : "if (" + condition + ") ", prelude_.use("scatter"), place(a),
         local, element_stride(a), count);
  }
}

/// Element k of the current vector.
std::string RowWriter::element_place(std::size_t a) {
  const std::string k = schedule_.vector > 1 ? "k" : "0";
  if (is_iota(a)) {
    const std::string start = place(a);
    if (schedule_.vector == 1 || inner_class(a) == AxisClass::broadcast) return fmt::format("({})", start);
    if (inner_class(a) == AxisClass::contiguous) return fmt::format("({} + k)", start);
    return fmt::format("({} + k * {})", start, stride(a, last()));
  }
  if (is_store(a)) return fmt::format("{}{}[{}]", access_name(a), rounds(a) ? "_f32" : "", k);
  if (is_packed(a)) {  // as it is, or under a cast that special_text prints
    const auto& outputs = kernel_.body.outputs;
    const bool stored = std::any_of(outputs.begin(), outputs.end(), [&](NodeId id) {
      return kernel_.body[id].kind == NodeKind::load && kernel_.body[id].payload == a;
    });
    return stored ? fmt::format("{}({}, {})", prelude_.use("half_of"), local_vector(a), k) : "";
  }
  return fmt::format("{}[{}]", local_vector(a), k);
}

/// Of an access that stays where it is along the row.
std::string RowWriter::row_place(std::size_t a) const { return is_iota(a) ? pointers_[a] : access_name(a); }

}  // namespace kiln::codegen::cuda
