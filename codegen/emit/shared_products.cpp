// codegen/emit/shared_products.cpp -- along which axes values vary, and which of them the elements of a thread share.
#include "codegen/emit/shared_products.h"

#include "codegen/schedule/transpose.h"
#include "codegen/schedule/window.h"

namespace kiln::codegen {
namespace {

using Axes = unsigned;  ///< bit per loop axis

Axes axes_of(const Access& access) {
  Axes axes = 0;
  for (std::size_t axis = 0; axis < access.axes.size(); ++axis)
    axes |= static_cast<Axes>(access.axes[axis] != AxisClass::broadcast) << axis;
  return axes;
}

/// Along which axes each value of the body varies.
std::vector<Axes> variation(const Kernel& kernel) {
  const Axes kept = (1u << (kernel.rank - kernel.reduced)) - 1;
  std::vector<Axes> axes(kernel.body.size(), 0);
  for (NodeId id = 0; id < kernel.body.size(); ++id) {
    const Node& node = kernel.body[id];
    if (node.kind == NodeKind::load || node.kind == NodeKind::iota)
      axes[id] = axes_of(kernel.accesses[static_cast<std::size_t>(node.payload)]);
    for (const NodeId operand : node.inputs()) axes[id] |= axes[operand];
    if (node.kind == NodeKind::reduce) axes[id] &= kept;
  }
  return axes;
}

/// The axes along which a thread has several elements, in numbers that a tuner may change.
std::vector<Axes> axes_of_threads(const Kernel& kernel, Template form) {
  if (kernel.rank == 0) return {};
  const Axes inner = 1u << (kernel.rank - 1), kept = (1u << (kernel.rank - kernel.reduced)) - 1;
  switch (form) {
    case Template::flat:
    case Template::rows:
    case Template::general:
      return {inner};
    case Template::transpose:
      return {inner, 1u << turned_axis(kernel)};
    case Template::window:
      if (kernel.rank == 1) return {inner};
      return {inner, 1u << run_axis(kernel)};
    case Template::row_reduction:  // rows at a time, in their linear order
      if (kept == 0) return {};
      return {kept};
    case Template::column_reduction:
      return {1u << (kernel.rank - kernel.reduced - 1)};
    default:
      return {};
  }
}

bool is_float_product(const Node& node) {
  return node.kind == NodeKind::operation && node.op == Op::mul && (node.type == DType::f32 || node.type == DType::f64);
}

bool adds(const Node& node) {
  return node.kind == NodeKind::operation && (node.op == Op::neg || node.op == Op::add || node.op == Op::sub);
}

/// Products by a literal that are added to something. NVRTC moves such a product to the load of its other factor, past
/// the reach of the addition, where that load is a branch: for some elements of a thread, in some kernels of a plan.
void mark_products_by_literals(const Kernel& kernel, std::vector<char>& products) {
  for (const Node& user : kernel.body.nodes()) {
    if (user.kind != NodeKind::reduce && !adds(user)) continue;
    for (const NodeId operand : user.inputs()) {
      const Node& product = kernel.body[operand];
      if (!is_float_product(product)) continue;
      for (const NodeId factor : product.inputs()) products[operand] |= kernel.body[factor].kind == NodeKind::literal;
    }
  }
}

/// Products that are reduced and also added to something, such as a result of the reduction: what a pass adds up would
/// differ from what another pass compares with it, and equal elements would have a variance.
void mark_reduced_products(const Kernel& kernel, std::vector<char>& products) {
  std::vector<char> reduced(kernel.body.size(), 0);
  for (const Node& user : kernel.body.nodes()) {
    if (user.kind != NodeKind::reduce) continue;
    for (const NodeId operand : user.inputs()) reduced[operand] = is_float_product(kernel.body[operand]);
  }
  for (const Node& user : kernel.body.nodes()) {
    if (!adds(user)) continue;
    for (const NodeId operand : user.inputs()) products[operand] |= reduced[operand];
  }
}

}  // namespace

std::vector<char> shared_products(const Kernel& kernel, Template form) {
  std::vector<char> products(kernel.body.size(), 0);
  mark_products_by_literals(kernel, products);
  mark_reduced_products(kernel, products);
  const std::vector<Axes> varies = variation(kernel);
  for (const Axes several : axes_of_threads(kernel, form)) {
    for (NodeId id = 0; id < kernel.body.size(); ++id) {
      const Node& user = kernel.body[id];
      const bool joins =
          user.kind == NodeKind::reduce || (adds(user) && (user.op == Op::neg || (varies[id] & several)));
      if (!joins) continue;
      for (const NodeId operand : user.inputs()) {
        if (is_float_product(kernel.body[operand]) && (varies[operand] & several) == 0) products[operand] = 1;
      }
    }
  }
  return products;
}

}  // namespace kiln::codegen
