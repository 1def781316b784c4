// codegen/pass/combiners.cpp -- joins of positions, of scaled exponential sums and of partial variances.
#include "codegen/pass/combiners.h"

#include "codegen/pass/builder.h"

namespace kiln::codegen {

Graph position_combiner(Reduction kind, DType value, DType position) {
  Graph graph;
  Builder b(graph);
  const NodeId left = graph.input(0, value), left_at = graph.input(1, position);
  const NodeId right = graph.input(2, value), right_at = graph.input(3, position);
  NodeId is_better = kind == Reduction::argmax ? b.gt(right, left) : b.lt(right, left);
  NodeId ties = b.eq(right, left);
  if (is_floating(value)) {
    const NodeId left_is_nan = b.is_nan(left), right_is_nan = b.is_nan(right);
    is_better = b.either(is_better, b.both(right_is_nan, b.invert(left_is_nan)));
    ties = b.either(ties, b.both(right_is_nan, left_is_nan));
  }
  const NodeId takes_right = b.either(is_better, b.both(ties, b.lt(right_at, left_at)));
  graph.outputs = {b.where(takes_right, right, left), b.where(takes_right, right_at, left_at)};
  return graph;
}

Graph logsumexp_combiner(DType type) {
  Graph graph;
  Builder b(graph);
  const NodeId left = graph.input(0, type), left_sum = graph.input(1, type);
  const NodeId right = graph.input(2, type), right_sum = graph.input(3, type);
  const NodeId high = b.op(Op::maximum, left, right), low = b.op(Op::minimum, left, right);
  // Equal maxima, infinite ones among them, need no scaling; a NaN reaches the sum through the exponential.
  const NodeId scale = b.where(b.eq(low, high), b.constant(type, 1), b.op(Op::exp, b.sub(low, high)));
  const NodeId left_is_high = b.eq(left, high);
  const NodeId high_sum = b.where(left_is_high, left_sum, right_sum);
  const NodeId low_sum = b.where(left_is_high, right_sum, left_sum);
  graph.outputs = {high, b.fma(low_sum, scale, high_sum)};
  return graph;
}

Graph deviations_combiner(DType type) {
  Graph graph;
  Builder b(graph);
  const NodeId left_count = graph.input(0, type), left_mean = graph.input(1, type), left = graph.input(2, type);
  const NodeId right_count = graph.input(3, type), right_mean = graph.input(4, type), right = graph.input(5, type);
  const NodeId count = b.add(left_count, right_count);
  // Two empty states: their share is 0 / 1. All other counts are at least 1.
  const NodeId share = b.div(right_count, b.op(Op::maximum, count, b.constant(type, 1)));
  const NodeId difference = b.sub(right_mean, left_mean);
  const NodeId mean = b.fma(difference, share, left_mean);
  // In this order nothing overflows that is multiplied by the 0 of an empty state.
  const NodeId between = b.mul(b.mul(difference, b.mul(left_count, share)), difference);
  graph.outputs = {count, mean, b.add(b.add(left, right), between)};
  return graph;
}

}  // namespace kiln::codegen
