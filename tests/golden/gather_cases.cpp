// tests/golden/gather_cases.cpp -- representative kernels that read or write by index.
#include "tests/golden/kernels.h"

namespace kiln::golden {
namespace {

using codegen::NodeId;

/// Index i of an axis of `extent` places: i * stride, or -1 where there is none.
NodeId checked(Builder& b, NodeId index, NodeId extent, NodeId stride) {
  const NodeId zero = b.number(DType::i64, 0), given = b.cast(index, DType::i64);
  const NodeId at = b.op(Op::where, {b.op(Op::lt, {given, zero}), b.op(Op::add, {given, extent}), given});
  const NodeId valid =
      b.kernel.body.operation(Op::bit_and, DType::b1, std::array{b.op(Op::ge, {at, zero}), b.op(Op::lt, {at, extent})});
  const NodeId far = stride == codegen::no_node ? at : b.op(Op::mul, {at, stride});
  return b.op(Op::where, {valid, far, b.kernel.body.literal(DType::i64, ~std::uint64_t{0})});
}

/// Rows of a table by index, read as whole vectors.
Case take_rows() {
  Builder b(2, codegen::IndexWidth::bits32, "y = take(table, ids, 0)");
  const NodeId ids = b.load(DType::i32, "cb", 4);
  const NodeId column = b.finding_iota("bc", 2, 16);
  const NodeId extent = b.parameter(DType::i64), stride = b.parameter(DType::i64), reach = b.parameter(DType::i64);
  b.store(b.gather(DType::bf16, 16, checked(b, ids, extent, stride), column, reach), "sc");
  return {"take_rows_bf16", b.finish(), {{300, 4096}}};
}

/// Reductions of rows of a table by index: the row is read as whole vectors, by each pass again.
Case centred_rows() {
  Builder b(2, codegen::IndexWidth::bits32, "x - mean(x), sum(x * x), x = take(table, ids, 0)");
  b.kernel.reduced = 1;
  const NodeId ids = b.load(DType::i32, "cb", 4);
  const NodeId column = b.finding_iota("bc", 4, 16);
  const NodeId extent = b.parameter(DType::i64), stride = b.parameter(DType::i64), reach = b.parameter(DType::i64);
  const NodeId inverse = b.parameter(DType::f32);
  const NodeId x = b.gather(DType::f32, 16, checked(b, ids, extent, stride), column, reach);
  const auto sum = [&](NodeId value) {
    codegen::ReductionSpec spec;
    spec.kind = codegen::Reduction::sum;
    return b.kernel.body.reduce(spec, DType::f32, {value});
  };
  b.store(b.op(Op::sub, {x, b.op(Op::mul, {sum(x), inverse})}), "sc");
  b.store(sum(b.op(Op::mul, {x, x})), "cb", 4);
  return {"take_rows_centred_f32", b.finish(), {{3000, 1000}}};
}

/// Single elements, each by an index of its own.
Case take_elements() {
  Builder b(1, codegen::IndexWidth::bits32, "y = take(x, i) + 1");
  const NodeId i = b.load(DType::i64, "c"), extent = b.parameter(DType::i64), zero = b.number(DType::i64, 0);
  const NodeId x = b.gather(DType::f32, 4, checked(b, i, extent, codegen::no_node), zero, zero);
  b.store(b.op(Op::add, {x, b.number(DType::f32, 1)}), "c");
  return {"take_elements_f32", b.finish(), {{5000}}};
}

/// Bytes counted into sums of the blocks' own.
Case histogram() {
  Builder b(1, codegen::IndexWidth::bits32, "counts[x] += n");
  const NodeId x = b.load(DType::u8, "c"), extent = b.parameter(DType::i64), number = b.parameter(DType::i64);
  b.parameter(DType::i64);
  b.scatter_add(number, checked(b, x, extent, codegen::no_node));
  Case test{"histogram_u8_i64", b.finish(), {{1 << 20}, 256}};
  test.kernel.bins_parameter = 2;
  return test;
}

/// Halves, which join as parts of words.
Case scatter_halves() {
  Builder b(1, codegen::IndexWidth::bits32, "y[i] += x");
  const NodeId i = b.load(DType::i32, "c"), x = b.load(DType::bf16, "c"), extent = b.parameter(DType::i64);
  b.scatter_add(x, checked(b, i, extent, codegen::no_node));
  return {"scatter_add_bf16", b.finish(), {{5000}}};
}

/// Bytes added to sums of the blocks' own, which join as parts of words there too.
Case bytes_in_bins() {
  Builder b(1, codegen::IndexWidth::bits32, "y[i] += x, few places");
  const NodeId i = b.load(DType::i32, "c"), x = b.load(DType::u8, "c"), extent = b.parameter(DType::i64);
  b.parameter(DType::i64);
  b.scatter_add(x, checked(b, i, extent, codegen::no_node));
  Case test{"scatter_bins_u8", b.finish(), {{1 << 20}, 7}};
  test.kernel.bins_parameter = 1;
  return test;
}

}  // namespace

std::vector<Case> golden_gathers() {
  return {take_rows(), centred_rows(), take_elements(), histogram(), scatter_halves(), bytes_in_bins()};
}

}  // namespace kiln::golden
