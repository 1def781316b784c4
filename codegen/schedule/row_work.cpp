// codegen/schedule/row_work.cpp -- vectors, held operands and their registers, from the kernel and the extents of a
// call.
#include "codegen/schedule/row_work.h"

#include <algorithm>

#include "codegen/ir/reduction.h"
#include "codegen/ir/stages.h"
#include "codegen/schedule/row_mapping.h"
#include "codegen/schedule/vector_width.h"

namespace kiln::codegen {
namespace {

constexpr int access_bytes = 16;

bool moves_along_rows(const Kernel& kernel, const Access& access) {
  return !access.iota && is_per_element(kernel, access);
}

/// Stands for elements along the row that are found by index.
bool finds_along_rows(const Kernel& kernel, const Access& access) {
  return access.gathers > 0 && is_per_element(kernel, access);
}

/// The largest vector by which most bytes move whole, at most 16 bytes of the widest operand; `aligned`: wherever rows
/// start.
int choose_vector(const Kernel& kernel, const Extents& extents, bool aligned) {
  const auto finds = [&](const Access& access) { return finds_along_rows(kernel, access); };
  const auto moves = [&](const Access& access) { return moves_along_rows(kernel, access) || finds(access); };
  const auto counts = [&](const Access& access) {
    return finds(access) || (moves(access) && !is_shared_by_rows(kernel, access));
  };
  const int widest = static_cast<int>(widest_element(kernel, moves));
  const std::int64_t inner = extents.loop.back();
  for (int vector = std::max(1, access_bytes / widest); vector > 1; vector /= 2) {
    if (inner % vector != 0 && (kernel.reduced > 1 || inner < 8 * vector)) continue;
    const auto is_whole = [&](const Access& access) {
      const std::size_t bytes = element_bytes(access), reach = aligned ? access_bytes : access.alignment;
      const auto width = static_cast<int>(std::min<std::size_t>(reach, access_bytes) / bytes);
      return is_contiguous(kernel, access) && access.alignment >= bytes && width >= vector;
    };
    if (most_bytes_move_whole(kernel, counts, is_whole)) return vector;
  }
  return 1;
}

/// Rows that start anywhere move by whole vectors where those are aligned instead of the rows: but the first and the
/// last one.
void shift_rows(RowWork& work, const Kernel& kernel, const Extents& extents) {
  constexpr std::int64_t longest = 1 << 30;  // positions before the row are negative numbers of 32 bits
  const bool finds = std::any_of(kernel.accesses.begin(), kernel.accesses.end(),
                                 [](const Access& access) { return access.gathers > 0; });
  const std::optional<std::size_t> anchor = shift_anchor(kernel);
  if (kernel.reduced != 1 || kernel.rank < 2 || finds || work.length >= longest || !anchor) return;
  // Sixteen integers at a time, widened for their sums, do not fit into registers twice.
  if (!is_floating(kernel.accesses[*anchor].type)) return;
  const int vector = choose_vector(kernel, extents, true);
  if (vector <= work.vector || work.length < 8 * vector) return;
  // Single elements of four bytes and more fill the accesses of a warp: enough for one pass of simple joins.
  if (!work.chain && !joins_states(kernel) && work.vector * size_of(kernel.accesses[*anchor].type) >= 4) return;
  work.vector = vector;
  work.shifted = true;
}

/// Bytes in registers of an element of a held row. Short floats are kept in pairs and unpacked when they are needed;
/// the compiler converts short integers once, and keeps the numbers.
std::size_t held_bytes(const Access& access, bool converts, int vector) {
  const std::size_t bytes = element_bytes(access);
  const bool packed = is_floating(access.type) && bytes == 2 && vector > 1;
  return bytes < 4 && converts && !packed ? 4 : bytes;
}

}  // namespace

bool is_contiguous(const Kernel& kernel, const Access& access) {
  for (std::size_t axis = 0; axis < access.axes.size(); ++axis) {
    const bool is_last = axis + 1 == access.axes.size();
    if ((access.axes[axis] == AxisClass::contiguous) != is_last) return false;
  }
  return kernel.rank > 0;
}

bool joins_states(const Kernel& kernel) {
  const auto nodes = kernel.body.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    return node.kind == NodeKind::reduce && kernel.body.reduction(node).combiner;
  });
}

bool has_functions(const Kernel& kernel, std::size_t least) {
  const std::vector<char> elements = stages_of(kernel).per_element;
  for (NodeId id = 0; id < kernel.body.size(); ++id) {
    const Node& node = kernel.body[id];
    const bool function = (node.op >= Op::cbrt && node.op <= Op::tgamma) || node.op == Op::pow;
    if (node.kind == NodeKind::operation && elements[id] && function && size_of(node.type) >= least) return true;
  }
  return false;
}

bool is_light(const Kernel& kernel) {
  const auto nodes = kernel.body.nodes();
  return nodes.size() <= 64 &&
         std::none_of(nodes.begin(), nodes.end(), [](const Node& node) { return size_of(node.type) > 4; });
}

std::optional<std::size_t> shift_anchor(const Kernel& kernel) {
  const std::vector<char> held = held_accesses(kernel);
  std::optional<std::size_t> anchor;
  for (std::size_t a = 0; a < held.size(); ++a) {
    const Access& access = kernel.accesses[a];
    const std::size_t bytes = size_of(access.type);
    if (!held[a] || !is_contiguous(kernel, access) || is_shared_by_rows(kernel, access) || access.alignment < bytes)
      continue;
    if (!anchor || bytes > size_of(kernel.accesses[*anchor].type)) anchor = a;
  }
  return anchor;
}

std::vector<char> held_accesses(const Kernel& kernel) {
  const Stages stages = stages_of(kernel);
  std::vector<char> needed(kernel.body.size(), 0), held(kernel.accesses.size(), 0);
  for (const auto& pass : stages.passes) {
    for (const NodeId reduction : pass) needed[reduction] = 1;
  }
  for (NodeId id = kernel.body.size(); id-- > 0;) {
    const Node& node = kernel.body[id];
    if (needed[id]) {
      for (const NodeId operand : node.inputs()) needed[operand] = 1;
    }
    if (node.kind != NodeKind::load) continue;
    const Access& access = kernel.accesses[node.payload];
    held[node.payload] = moves_along_rows(kernel, access) && (needed[id] || !is_shared_by_rows(kernel, access));
  }
  return held;
}

RowWork work_of(const Kernel& kernel, const Extents& extents) {
  const Stages stages = stages_of(kernel);
  RowWork work;
  const RowExtents row = row_extents(kernel, extents);
  work.rows = row.rows;
  work.length = row.length;
  work.chain = stages.passes.size() > 1 || stages.has_element_outputs;
  work.vector = choose_vector(kernel, extents, false);
  shift_rows(work, kernel, extents);
  const std::vector<char> held = held_accesses(kernel);
  const bool converts =
      work.chain || std::any_of(kernel.body.nodes().begin(), kernel.body.nodes().end(),
                                [](const Node& node) { return node.kind == NodeKind::cast && is_floating(node.type); });
  std::size_t bytes = 0, in_registers = 0;
  for (std::size_t a = 0; a < held.size(); ++a) {
    const Access& access = kernel.accesses[a];
    if (!held[a] && !finds_along_rows(kernel, access)) continue;
    bytes += element_bytes(access);
    in_registers += held_bytes(access, converts, work.vector);
  }
  work.bytes = static_cast<std::int64_t>(bytes);
  work.registers = std::max(1, static_cast<int>(in_registers) * work.vector / 4);
  work.wide = has_functions(kernel, 8);
  return work;
}

}  // namespace kiln::codegen
