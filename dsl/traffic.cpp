// dsl/traffic.cpp -- counts the bytes that a kernel reads in its passes and keeps in flight.
#include "dsl/traffic.h"

#include <algorithm>

#include "codegen/ir/stages.h"

namespace kiln::dsl {
namespace {

using codegen::NodeId;
using codegen::NodeKind;

constexpr std::int64_t usual_core_cache = std::int64_t{1} << 20;  ///< where a CPU does not tell

/// Adds the bytes of the elements that one pass reads to compute `roots`; returns those that no pass before it read.
struct PassReads {
  const DraftKernel& draft;
  std::int64_t all = 0, first = 0;
  std::vector<char> seen = std::vector<char>(draft.kernel.accesses.size(), 0);

  void add(std::vector<char> needed) {
    const codegen::Graph& body = draft.kernel.body;
    std::vector<char> read(draft.kernel.accesses.size(), 0);
    for (NodeId id = body.size(); id-- > 0;) {
      const codegen::Node& node = body[id];
      if (!needed[id] || node.kind == NodeKind::reduce) continue;
      for (const NodeId operand : node.inputs()) needed[operand] = 1;
      if (node.kind == NodeKind::load || node.kind == NodeKind::gather) read[node.payload] = 1;
    }
    for (std::size_t a = 0; a < read.size(); ++a) {
      const codegen::Access& access = draft.kernel.accesses[a];
      const bool is_row = access.gathered || codegen::is_per_element(draft.kernel, access);
      if (!read[a] || access.iota || !is_row) continue;
      all += bytes_touched(draft, a);
      if (!seen[a]) first += bytes_touched(draft, a);
      seen[a] = 1;
    }
  }
};

/// Blocks or threads that work at the same time.
std::int64_t at_work(const DraftKernel& draft, const codegen::DeviceTraits& traits, double occupancy) {
  if (!traits.cuda) return 1;  // of the core whose cache counts
  const auto [x, y, z] = draft.shape.block;
  const std::int64_t threads = std::int64_t{x} * y * z;
  const double resident = (occupancy < 0 ? 1 : occupancy) * traits.threads_per_multiprocessor;
  return traits.multiprocessors *
         std::max<std::int64_t>(1, static_cast<std::int64_t>(resident) / std::max<std::int64_t>(1, threads));
}

std::int64_t units_of(const DraftKernel& draft, const codegen::DeviceTraits& traits) {
  if (!traits.cuda) return std::max<std::int64_t>(1, draft.shape.units);
  const auto [x, y, z] = draft.shape.grid;
  return std::int64_t{x} * y * z;
}

}  // namespace

std::int64_t bytes_touched(const DraftKernel& draft, std::size_t access) {
  const auto gathered = draft.gathered_bytes.find(access);
  if (gathered != draft.gathered_bytes.end()) return gathered->second;
  auto elements = static_cast<std::int64_t>(size_of(draft.kernel.accesses[access].type));
  for (int axis = 0; axis < draft.nest.shape.rank; ++axis)
    if (draft.nest.walks[access].strides[axis] != 0) elements *= draft.nest.shape.extents[axis];
  return elements;
}

Rereads rereads_of(const DraftKernel& draft, const codegen::DeviceTraits& traits, double occupancy) {
  Rereads result;
  if (draft.kernel.reduced == 0 || draft.schedule.resident) return result;
  const codegen::Stages stages = codegen::stages_of(draft.kernel);
  if (!stages.scans.empty()) return result;
  const codegen::Graph& body = draft.kernel.body;
  PassReads reads{draft};
  for (const std::vector<NodeId>& pass : stages.passes) {
    std::vector<char> needed(body.size(), 0);
    for (const NodeId reduction : pass)
      for (const NodeId operand : body[reduction].inputs()) needed[operand] = 1;
    reads.add(std::move(needed));
  }
  std::vector<char> needed(body.size(), 0);
  for (const NodeId output : body.outputs) needed[output] |= stages.per_element[output];
  reads.add(std::move(needed));
  result.bytes = reads.all - reads.first;
  const std::int64_t units = units_of(draft, traits), working = std::min(units, at_work(draft, traits, occupancy));
  result.in_flight = static_cast<std::int64_t>(static_cast<double>(reads.first) / static_cast<double>(units) *
                                               static_cast<double>(working));
  result.cache = static_cast<std::int64_t>(traits.l2_bytes);
  if (!traits.cuda && result.cache == 0) result.cache = usual_core_cache;
  return result;
}

}  // namespace kiln::dsl
