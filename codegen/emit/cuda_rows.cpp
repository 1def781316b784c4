// codegen/emit/cuda_rows.cpp -- the flat and row-wise forms: vectors along the innermost axis, one row per thread row.
#include "codegen/emit/cuda_types.h"
#include "codegen/emit/cuda_writer.h"

namespace kiln::codegen::cuda {

/// One tile per block, or as many as its turns. `i` is the position of the thread's first vector; further vectors
/// follow a block's width apart.
void Writer::flat() {
  pointers_.clear();
  row_pointers({});
  if (kernel_.rank > 0) {
    const std::string block =
        kernel_.index == IndexWidth::bits32 ? std::string("blockIdx.x") : std::string("u64(blockIdx.x)");
    const std::string vectors = fmt::format("{} * {}u + threadIdx.x", block, schedule_.block * schedule_.items);
    const std::string first = schedule_.vector > 1 ? fmt::format("({}) * {}u", vectors, schedule_.vector) : vectors;
    if (takes_turns()) {
      const std::string blocks = kernel_.index == IndexWidth::bits32 ? "gridDim.x" : "u64(gridDim.x)";
      open(fmt::format("for ({0} i = {1}; i < a.n0; i += {2} * {3}u)", index_, first, blocks,
                       schedule_.block * schedule_.items * schedule_.vector));
    } else {
      line("const {} i = {};", index_, first);
      line("if (i >= a.n0) return;");
    }
  }
  declare_loads();
  loads();
  compute();
  stores();
  if (takes_turns()) close();
}

/// Grid x runs over the innermost axis, y and z over the rows; a block holds blockDim.y rows.
void Writer::rows() {
  const int inner = kernel_.rank - 1;
  const bool wide = kernel_.index == IndexWidth::bits64;
  const std::string block = wide ? "u64(blockIdx.x)" : "blockIdx.x";
  const std::string vectors = schedule_.items > 1
                                  ? fmt::format("{} * (blockDim.x * {}u) + threadIdx.x", block, schedule_.items)
                                  : fmt::format("{} * blockDim.x + threadIdx.x", block);
  line("const {} i = {};", index_,
       schedule_.vector > 1 ? fmt::format("({}) * {}u", vectors, schedule_.vector) : vectors);
  line("const {} row = ({} * gridDim.y + blockIdx.y) * blockDim.y + threadIdx.y;", index_,
       wide ? "u64(blockIdx.z)" : "blockIdx.z");
  line("if (i >= a.n{}) return;", inner);
  std::vector<int> outer;
  for (int axis = 0; axis < inner; ++axis) outer.push_back(axis);
  decode_outer("row", outer);
  row_pointers(outer);
  declare_loads();
  loads();
  compute();
  stores();
}

/// "[u]" where a thread has several vectors.
std::string Writer::piece() const { return schedule_.items > 1 ? "[u]" : ""; }

void Writer::declare_loads() {
  const std::string shape =
      (schedule_.items > 1 ? fmt::format("[{}]", schedule_.items) : "") + fmt::format("[{}]", schedule_.vector);
  for (std::size_t a = 0; a < kernel_.accesses.size(); ++a) {
    if (is_iota(a) || is_gathered(a) || is_stepped(a) || is_counted(a)) continue;
    if (!is_store(a) && inner_class(a) == AxisClass::broadcast) {
      line("const {} {} = *{};", storage(a), access_name(a), pointers_[a]);
    } else {
      line("{} {}{};", storage(a), access_name(a), shape);
      if (is_store(a) && rounds(a)) line("float {}_f32{};", access_name(a), shape);
    }
  }
  declare_row_gathers();
}

/// Address of the current vector of access `a`; `i` (or `j` within a loop over vectors) is its position.
std::string Writer::place(std::size_t a) const {
  const char* position = schedule_.items > 1 ? "j" : "i";
  switch (inner_class(a)) {
    case AxisClass::broadcast:
      return pointers_[a];
    case AxisClass::contiguous:
      return fmt::format("{} + {}", pointers_[a], position);
    case AxisClass::strided:
      return fmt::format("{} + {}({}) * {}", pointers_[a], step_, position,
                         stride(a, static_cast<std::size_t>(kernel_.rank - 1)));
  }
  return {};
}

/// Moves the current vector of every load (or store): by whole vectors, or the first `count` elements.
void Writer::move_elements(bool store, const std::string& count, bool vectors) {
  for (std::size_t a = 0; a < kernel_.accesses.size(); ++a) {
    if (is_iota(a) || is_gathered(a) || is_stepped(a) || is_store(a) != store || kernel_.accesses[a].places) continue;
    if (scatters(a)) {
      scatter_elements(a, count, pointers_[a]);
      continue;
    }
    const AxisClass inner = inner_class(a);
    if (inner == AxisClass::broadcast && !store) continue;
    const std::string local = access_name(a) + piece();
    if (inner == AxisClass::broadcast) {  // a single element
      line("*{} = {}[0];", pointers_[a], local);
      continue;
    }
    if (is_folded_inside(a)) {
      folded_elements(a, local, count);
      continue;
    }
    const std::string to = store ? place(a) : local, from = store ? local : place(a);
    if (inner == AxisClass::contiguous && vectors && !is_underaligned(a)) {
      const int width = access_width(a, schedule_.vector);
      line("{}<{}>({}, {});", prelude_.use(store ? "write" : "read"), width, to, from);
    } else {
      const std::string step =
          inner == AxisClass::contiguous ? "1" : stride(a, static_cast<std::size_t>(kernel_.rank - 1));
      line("{}({}, {}, {}, {});", prelude_.use(store ? "scatter" : "gather"), to, from, step, count);
    }
  }
  if (!store) load_row_gathers(count, vectors);
}

/// All loads or all stores of the thread. Only the last vector of the innermost axis may be partial.
void Writer::move_pieces(bool store) {
  const std::string whole = fmt::format("{}u", schedule_.vector);
  const bool partial = schedule_.vector > 1 && !schedule_.whole_vectors;
  if (schedule_.items == 1 && !partial) return move_elements(store, whole, true);
  const std::string n = is_dense_form() ? "n" : extent(static_cast<std::size_t>(kernel_.rank - 1));
  if (schedule_.items > 1) {
    unrolled("u", schedule_.items);
    const std::string width = schedule_.form == Template::flat ? fmt::format("{}u", schedule_.block * schedule_.vector)
                              : schedule_.vector > 1           ? fmt::format("(blockDim.x * {}u)", schedule_.vector)
                                                               : std::string("blockDim.x");
    line("const {} j = i + u * {};", index_, width);
    line("const {0} count = j < {1} ? {1} - j : 0;", index_, n);
  } else if (!store) {
    line("const {} count = {} - i;", index_, n);
  }
  if (schedule_.items > 1 && schedule_.vector == 1) {
    move_elements(store, "count", false);
  } else {
    open(fmt::format("if (count >= {})", whole));
    move_elements(store, whole, true);
    --indent_;
    open("} else");
    move_elements(store, "count", false);
    close();
  }
  if (schedule_.items > 1) close();
}

void Writer::loads() { move_pieces(false); }
void Writer::stores() { move_pieces(true); }

void Writer::compute() {
  const bool needs_position = [&] {
    for (const Access& access : kernel_.accesses) {
      if (access.iota && !access.axes.empty() && access.axes.back() != AxisClass::broadcast) return true;
    }
    return false;
  }();
  if (schedule_.items > 1) {
    unrolled("u", schedule_.items);
    if (needs_position) {
      const std::string width = schedule_.form == Template::flat
                                    ? fmt::format("{}u", schedule_.block * schedule_.vector)
                                    : fmt::format("blockDim.x * {}u", schedule_.vector);
      line("const {} j = i + u * ({});", index_, width);
    }
  }
  const bool several = schedule_.vector > 1;
  if (several) unrolled("k", schedule_.vector);
  const std::string k = several ? "k" : "0";
  const std::string position = std::string(schedule_.items > 1 ? "j" : "i") + (several ? " + k" : "");
  name_row_gathers("", fmt::format("{}[{}]", piece(), k));
  if (is_dense_form()) stepped_operands();
  body([&](std::size_t a) -> std::string {
    if (is_stepped(a)) return access_name(a);
    const AxisClass inner = inner_class(a);
    if (is_iota(a)) {
      if (is_folded_inside(a)) {
        const auto axis = static_cast<std::size_t>(kernel_.rank - 1);
        return fmt::format("({} + i64({}))", pointers_[a], folded_offset(a, axis, position));
      }
      if (inner == AxisClass::broadcast) return pointers_[a];
      const std::string at = fmt::format("i64({})", position);
      if (inner == AxisClass::contiguous) return fmt::format("({} + {})", pointers_[a], at);
      return fmt::format("({} + {} * {})", pointers_[a], at, stride(a, static_cast<std::size_t>(kernel_.rank - 1)));
    }
    if (is_store(a)) return fmt::format("{}{}{}[{}]", access_name(a), rounds(a) ? "_f32" : "", piece(), k);
    return inner == AxisClass::broadcast ? access_name(a) : fmt::format("{}{}[{}]", access_name(a), piece(), k);
  });
  if (is_dense_form()) step_coordinates();
  if (several) close();
  for (std::size_t a = kernel_.first_store(); a < kernel_.accesses.size(); ++a) {
    if (!rounds(a)) continue;
    const char* function = kernel_.accesses[a].type == DType::f16 ? "round_f16" : "round_bf16";
    line("{0}({1}{2}, {1}_f32{2});", prelude_.use(function), access_name(a), piece());
  }
  if (schedule_.items > 1) close();
}

}  // namespace kiln::codegen::cuda
