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
  if (accesses.empty() && !compared && !schedule_.shifted) return;
  const std::string vector = schedule_.items > 1 ? fmt::format("(u * {}u + lane)", schedule_.lanes) : "lane";
  const std::string within = schedule_.vector > 1 ? fmt::format("{} * {}u", vector, schedule_.vector) : vector;
  line("const {} j = {}{}{};", index_, schedule_.resident ? "" : "first + ", within,
       schedule_.shifted ? " - shift" : "");
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

/// The row holds all elements of the current vector; one that starts before it has a position beyond any length.
std::string RowWriter::is_full() const { return fmt::format("j < {0} && {0} - j >= {1}u", length(), schedule_.vector); }

bool RowWriter::has_partial_vectors(bool predicated) const {
  return predicated && schedule_.vector > 1 && !schedule_.whole_vectors;
}

/// Elements per access where the row is whole vectors, or where they are aligned instead of the row.
int RowWriter::vector_width(std::size_t a) const {
  if (!schedule_.shifted) return access_width(a, schedule_.vector);
  const Access& access = kernel_.accesses[a];
  const int size = static_cast<int>(size_of(access.type));
  return access.alignment < size ? 1 : std::clamp(16 / size, 1, schedule_.vector);
}

/// An operand that need not start as the rows do is put together from two aligned vectors.
bool RowWriter::joins_two_vectors(std::size_t a) const {
  const std::size_t size = size_of(kernel_.accesses[a].type), bytes = size * static_cast<std::size_t>(schedule_.vector);
  return schedule_.shifted && size == 2 && a != anchor_ && !is_store(a) && !is_iota(a) &&
         (is_late(a) || part_ != Part::shared) && inner_class(a) == AxisClass::contiguous &&
         vector_width(a) == schedule_.vector && (bytes == 8 || bytes == 16);
}

/// Where the row at hand starts among the elements of an aligned vector, and which other operands start as it does.
void RowWriter::declare_shift(std::span<const std::size_t> accesses) {
  line("const u32 shift = {}<{}>({});", prelude_.use("place_in_vector"), schedule_.vector, pointers_[anchor_]);
  for (const std::size_t a : accesses) {
    const int width = is_iota(a) ? 1 : vector_width(a);
    const bool moves = !is_iota(a) && is_per_element(kernel_, kernel_.accesses[a]);
    const bool copied = is_cluster() && held_[a] && schedule_.tile > 0;  // by whole vectors or not at all
    if (a == anchor_ || !moves || width == 1 || inner_class(a) != AxisClass::contiguous) continue;
    if (joins_two_vectors(a) && !copied) continue;
    line("const bool even_{0} = ({1}<{2}>({3}) - shift) % {2}u == 0;", access_name(a), prelude_.use("place_in_vector"),
         width, pointers_[a]);
  }
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

/// The stride in a type that holds every position.
std::string RowWriter::position_stride(std::size_t a) const {
  return inner_class(a) == AxisClass::strided ? stride(a, last()) : fmt::format("{}({})", index_, element_stride(a));
}

/// Arguments of read_between.
std::string RowWriter::row_pieces(std::size_t a) const {
  return fmt::format("{}, {}, j, {}", pointers_[a], position_stride(a), length());
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
  // Small elements: all that are whole first. Measured on an H200: sums of 4097 bf16 take 62 us instead of 72, while
  // softmax of 4097 f32 takes 297 instead of 263.
  const auto is_split = [&](std::size_t a) {
    return has_partial_vectors(predicated) && schedule_.shifted && a == anchor_ && vector_width(a) > 1 &&
           size_of(kernel_.accesses[a].type) <= 2;
  };
  open_vectors(reads, predicated);
  for (const std::size_t a : reads) {
    if (!is_split(a)) {
      load_vector(a, predicated);
      continue;
    }
    line("{}", whole_read(a, "read_if", ", " + is_full()));
  }
  close();
  if (std::none_of(reads.begin(), reads.end(), is_split)) return;
  open_vectors(reads, predicated);
  open(fmt::format("if (!({0}) && j + {1}u < {2} + {1}u)", is_full(), schedule_.vector - 1, length()));
  for (const std::size_t a : reads) {
    if (is_split(a)) read_pieces(a, is_packed(a), "read_between", row_pieces(a));
  }
  close();
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
         inner_class(a) == AxisClass::contiguous && vector_width(a) > 1 && part_ != Part::shared;
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
  static constexpr const char* all_ones[] = {"gridDim.y", "gridDim.z", "blockDim.y", "blockDim.z"};
  static constexpr const char* of_layers[] = {"blockDim.y", "blockDim.z", "blockDim.y", "blockDim.z"};
  const auto& ones = schedule_.layers ? of_layers : all_ones;
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

/// The current vector in accesses as wide as they may be; `more`: further arguments of the function.
std::string RowWriter::whole_read(std::size_t a, const char* function, const std::string& more) {
  const int width = is_packed(a) ? vector_width(a) / 2 : vector_width(a);  // of pairs
  const std::string from = is_packed(a) ? fmt::format("reinterpret_cast<const u32*>({})", place(a)) : place(a);
  return fmt::format("{}<{}>({}, {}{});", prelude_.use(function), width, local_vector(a), from, more);
}

/// Places past the end are not read; there the values are zero.
void RowWriter::load_vector(std::size_t a, bool predicated) {
  const bool contiguous = inner_class(a) == AxisClass::contiguous && !is_underaligned(a);
  const int width = contiguous ? vector_width(a) : 1;
  if (contiguous && (!predicated || schedule_.whole_vectors)) {
    line("{}", predicated ? whole_read(a, "read_if", fmt::format(", j < {}", length())) : whole_read(a, "read", ""));
    return;
  }
  if (has_partial_vectors(predicated) && kernel_.reduced == 1) return load_partial(a, width);
  const std::string count =
      predicated ? fmt::format("{0} - (j < {0} ? j : {0})", length()) : fmt::format("{}u", schedule_.vector);
  read_pieces(a, is_packed(a), "gather", fmt::format("{}, {}, {}", place(a), element_stride(a), count));
}

/// Whole vectors at once; the first and the last one of a row element by element. An operand that starts otherwise than
/// the rows is put together from two vectors.
void RowWriter::load_partial(std::size_t a, int width) {
  const std::string local = local_vector(a);
  const bool packed = is_packed(a);
  const bool joins = joins_two_vectors(a);
  if (joins) {
    prelude_.use("uneven_words");
    line("if (j >= {0}u && j < {1} && {1} - j >= {2}u) {{", schedule_.vector, length(), 2 * schedule_.vector);
    line("  {}({}, {});", packed ? "uneven_words" : "read_uneven", local, place(a));
    open("} else");
  } else if (width > 1) {
    line("if ({}) {{", whole_condition(a));
    line("  {}", whole_read(a, "read", ""));
    open("} else");
  }
  read_pieces(a, packed, "read_between", row_pieces(a));
  if (joins || width > 1) close();
}

/// Element by element, by a function of the prelude.
void RowWriter::read_pieces(std::size_t a, bool packed, const char* function, const std::string& arguments) {
  const std::string local = local_vector(a);
  if (!packed) return line("{}({}, {});", prelude_.use(function), local, arguments);
  line("u16 {}_halves[{}];", access_name(a), schedule_.vector);
  line("{}({}_halves, {});", prelude_.use(function), access_name(a), arguments);
  line("{0}({1}, {2}_halves);", prelude_.use("pack"), local, access_name(a));
}

std::string RowWriter::whole_condition(std::size_t a) const {
  return is_full() + (schedule_.shifted && a != anchor_ ? " && even_" + access_name(a) : "");
}

void RowWriter::store_vector(std::size_t a, bool predicated) {
  const std::string local = access_name(a);
  if (rounds(a)) {
    const char* function = kernel_.accesses[a].type == DType::f16 ? "round_f16" : "round_bf16";
    line("{0}({1}, {1}_f32);", prelude_.use(function), local);
  }
  const bool contiguous = inner_class(a) == AxisClass::contiguous && !is_underaligned(a);
  if (has_partial_vectors(predicated) && kernel_.reduced == 1) {
    const int width = contiguous ? vector_width(a) : 1;
    if (shares_block()) open("if (inside)");
    if (width > 1)
      line("if ({}) {}<{}>({}, {}); else", whole_condition(a), prelude_.use("write"), width, place(a), local);
    const std::string step = position_stride(a);
    line("{}({}, {}, {}, j, {});", prelude_.use("write_between"), pointers_[a], local, step, length());
    if (shares_block()) close();
    return;
  }
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
    if (schedule_.shifted && inner_class(a) != AxisClass::broadcast) {  // the position itself may be before the row
      const std::string step = inner_class(a) == AxisClass::strided ? " * " + stride(a, last()) : "";
      return fmt::format("({} + i64(j + {}){})", pointers_[a], k, step);
    }
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
