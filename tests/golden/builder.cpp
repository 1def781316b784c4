// tests/golden/builder.cpp -- how the tests write kernels down.
#include <algorithm>

#include "codegen/ir/op_info.h"
#include "codegen/pass/passes.h"
#include "tests/golden/kernels.h"

namespace kiln::golden {
namespace {

std::vector<codegen::AxisClass> axes_of(std::string_view text) {
  std::vector<codegen::AxisClass> axes;
  for (const char letter : text) {
    axes.push_back(letter == 'c'   ? codegen::AxisClass::contiguous
                   : letter == 'b' ? codegen::AxisClass::broadcast
                                   : codegen::AxisClass::strided);
  }
  return axes;
}

}  // namespace

Builder::Builder(int rank, codegen::IndexWidth index, std::string comment) {
  kernel.rank = rank;
  kernel.index = index;
  kernel.comment = std::move(comment);
}

codegen::NodeId Builder::load(DType type, std::string_view axes, int alignment, bool aliased) {
  codegen::Access access;
  access.type = type;
  access.alignment = static_cast<std::uint8_t>(alignment);
  access.aliased = aliased;
  access.axes = axes_of(axes);
  kernel.accesses.push_back(access);
  return kernel.body.load(kernel.accesses.size() - 1, type);
}

codegen::NodeId Builder::iota(std::string_view axes) {
  codegen::Access access;
  access.type = DType::i64;
  access.iota = true;
  access.axes = axes_of(axes);
  kernel.accesses.push_back(access);
  return kernel.body.iota(kernel.accesses.size() - 1);
}

codegen::NodeId Builder::parameter(DType type) {
  kernel.parameters.push_back(type);
  return kernel.body.parameter(kernel.parameters.size() - 1, compute_type(type));
}

codegen::NodeId Builder::node(codegen::NodeKind kind, DType type, std::initializer_list<codegen::NodeId> operands) {
  codegen::Node node;
  node.kind = kind;
  node.type = type;
  for (const codegen::NodeId operand : operands) node.operands[node.arity++] = operand;
  return kernel.body.add(node);
}

codegen::NodeId Builder::op(Op op, std::initializer_list<codegen::NodeId> operands) {
  const codegen::NodeId last = *(operands.end() - 1);
  const DType type = codegen::is_comparison(op) ? DType::b1 : kernel.body[last].type;
  return kernel.body.operation(op, type, {operands.begin(), operands.size()});
}

void Builder::store(codegen::NodeId value, std::string_view axes, int alignment) {
  codegen::Access access;
  access.type = kernel.body[value].type;
  access.store = true;
  access.alignment = static_cast<std::uint8_t>(alignment);
  access.axes = axes_of(axes);
  stores_.push_back(access);
  kernel.body.outputs.push_back(value);
}

codegen::NodeId Builder::finding_iota(std::string_view axes, int bytes, int alignment) {
  const codegen::NodeId value = iota(axes);
  kernel.accesses.back().gathers = static_cast<std::uint8_t>(bytes);
  kernel.accesses.back().alignment = static_cast<std::uint8_t>(alignment);
  return value;
}

codegen::NodeId Builder::gather(DType type, int alignment, codegen::NodeId displacement, codegen::NodeId affine,
                                codegen::NodeId reach) {
  codegen::Access access;
  access.type = type;
  access.alignment = static_cast<std::uint8_t>(alignment);
  access.gathered = true;
  access.axes.assign(static_cast<std::size_t>(kernel.rank), codegen::AxisClass::broadcast);
  kernel.accesses.push_back(access);
  return kernel.body.primitive(codegen::NodeKind::gather, type, {displacement, affine, reach},
                               kernel.accesses.size() - 1);
}

void Builder::scatter_add(codegen::NodeId value, codegen::NodeId place) {
  const std::string axes(static_cast<std::size_t>(kernel.rank), 'b');
  store(value, axes, static_cast<int>(size_of(kernel.body[value].type)));
  stores_.back().scatter = codegen::Scatter::add;
  store(place, axes, 8);
  stores_.back().places = true;
}

void Builder::dense(int alignment) {
  for (std::vector<codegen::Access>* accesses : {&kernel.accesses, &stores_}) {
    for (codegen::Access& access : *accesses) {
      const auto& axes = access.axes;
      const bool moves = std::find(axes.begin(), axes.end(), codegen::AxisClass::broadcast) == axes.end();
      if (moves && !access.iota) access.dense_alignment = static_cast<std::uint8_t>(alignment);
    }
  }
}

codegen::Kernel Builder::finish() {
  kernel.accesses.insert(kernel.accesses.end(), stores_.begin(), stores_.end());
  kernel.body = codegen::canonical(kernel.body);
  return std::move(kernel);
}

codegen::Kernel Builder::finish_legalised() {
  codegen::Kernel result = finish();
  result.body = codegen::run_pipeline(result.body, {});
  return result;
}

codegen::DeviceTraits device() {
  codegen::DeviceTraits traits;
  traits.l2_bytes = std::size_t{60} << 20;
  return traits;
}

codegen::Schedule wished(const codegen::Kernel& kernel, const codegen::Extents& extents,
                         const codegen::LaunchWish& wish) {
  codegen::Schedule schedule = codegen::choose_schedule(kernel, extents, device());
  std::string problem = codegen::apply_wish(kernel, extents, wish, schedule);
  LaunchShape shape = codegen::launch_shape(kernel, schedule, extents);
  problem += codegen::apply_grid(wish, schedule, shape);
  if (!problem.empty()) schedule.reason = problem;  // which no test expects
  return schedule;
}

codegen::Schedule schedule_of(const Case& test) { return wished(test.kernel, test.extents, test.wish); }

LaunchShape shape_of(const Case& test) {
  codegen::Schedule schedule = schedule_of(test);
  if (test.wish.grid > 0) schedule.grid = 0;  // applied to the shape, below
  LaunchShape shape = codegen::launch_shape(test.kernel, schedule, test.extents);
  codegen::apply_grid(test.wish, schedule, shape);
  return shape;
}

KernelSource source_of(const Case& test) { return codegen::emit_cuda(test.kernel, schedule_of(test), {}); }

}  // namespace kiln::golden
