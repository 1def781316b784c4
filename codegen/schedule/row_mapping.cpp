// codegen/schedule/row_mapping.cpp -- fields of a schedule that follow from who holds a row.
#include "codegen/schedule/row_mapping.h"

#include <algorithm>

#include "codegen/schedule/arithmetic.h"
#include "support/check.h"

namespace kiln::codegen {
namespace {

constexpr std::int64_t grid_limit_x = 0x7fffffff, grid_limit_yz = 65535;
constexpr int largest_cluster = 16;

}  // namespace

RowExtents row_extents(const Kernel& kernel, const Extents& extents) {
  RowExtents result;
  for (int axis = 0; axis < kernel.rank; ++axis)
    (axis < kernel.rank - kernel.reduced ? result.rows : result.length) *= extents.loop[static_cast<std::size_t>(axis)];
  return result;
}

void hold_by_lanes(Schedule& schedule, int lanes, int items) {
  schedule.lanes = lanes * items * schedule.vector == 1 ? 2 : lanes;
  schedule.items = items;
  schedule.rows = 1;
  schedule.resident = true;
}

void take_by_block(Schedule& schedule, int block, int items, bool resident) {
  schedule.lanes = schedule.block = block;
  schedule.items = items;
  schedule.rows = 1;
  schedule.resident = resident;
}

void hold_by_cluster(Schedule& schedule, int block, int cluster, std::int64_t vectors, int in_registers,
                     int least_items) {
  schedule.block = block;
  schedule.cluster = cluster;
  schedule.lanes = block * cluster;
  schedule.items = std::max(least_items, static_cast<int>(ceil_divide(vectors, schedule.lanes)));
  schedule.tile = std::max(0, schedule.items - in_registers);
  schedule.resident = true;
}

void set_whole_rows(Schedule& schedule, std::int64_t length) {
  const std::int64_t tile = std::int64_t{schedule.lanes} * schedule.items * schedule.vector;
  schedule.whole_rows = !schedule.shifted && (schedule.resident ? length == tile : length % tile == 0);
}

bool may_need_layers(const Kernel& kernel, const Extents& extents) {
  return kernel.index == IndexWidth::bits64 && row_extents(kernel, extents).rows > grid_limit_x / largest_cluster;
}

void set_grid(LaunchShape& shape, std::int64_t blocks, int cluster) {
  const std::int64_t layers = ceil_divide(std::max<std::int64_t>(blocks, 1), grid_limit_x / cluster * cluster);
  const std::int64_t z = ceil_divide(layers, grid_limit_yz), y = ceil_divide(layers, z);
  KILN_INTERNAL_CHECK(z <= grid_limit_yz, "{} blocks exceed the grid", blocks);
  const std::int64_t x = ceil_divide(ceil_divide(blocks, cluster), y * z) * cluster;
  shape.grid = {static_cast<std::uint32_t>(std::max<std::int64_t>(x, 1)), static_cast<std::uint32_t>(y),
                static_cast<std::uint32_t>(z)};
}

std::int64_t row_vectors(const Schedule& schedule, std::int64_t length) {
  return ceil_divide(length + (schedule.shifted ? schedule.vector - 1 : 0), schedule.vector);
}

}  // namespace kiln::codegen
