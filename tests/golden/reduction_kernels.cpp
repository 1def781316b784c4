// tests/golden/reduction_kernels.cpp -- bodies with reductions, written as the passes leave them.
#include "codegen/ir/op_info.h"
#include "codegen/pass/passes.h"
#include "tests/golden/reduction_cases.h"

namespace kiln::golden {
namespace {

using codegen::Graph;
using codegen::IndexWidth;
using codegen::Kernel;
using codegen::NodeId;
using codegen::NodeKind;
using codegen::Reduction;
using codegen::ReductionSpec;

bool is_short(DType type) { return type == DType::i8 || type == DType::i16; }
DType computed(DType type) { return type == DType::f16 || type == DType::bf16 || is_short(type) ? DType::f32 : type; }
/// Results of short integers are floats.
DType stored(DType type) { return is_short(type) ? DType::f32 : type; }

/// The reduced axes of `axes` replaced by broadcast: the access of a value per row.
std::string per_row(std::string_view axes, int reduced) {
  std::string row(axes);
  for (std::size_t i = row.size() - static_cast<std::size_t>(reduced); i < row.size(); ++i) row[i] = 'b';
  if (row.size() > static_cast<std::size_t>(reduced)) {
    const std::size_t last = row.size() - static_cast<std::size_t>(reduced) - 1;
    for (std::size_t i = 0; i <= last; ++i) row[i] = i == last ? 'c' : 's';
  }
  return row;
}

Builder rows(std::string_view axes, int reduced, IndexWidth index, std::string comment) {
  Builder b(static_cast<int>(axes.size()), index, std::move(comment));
  b.kernel.reduced = reduced;
  return b;
}

NodeId reduce(Builder& b, Reduction kind, NodeId value) {
  ReductionSpec spec;
  spec.kind = kind;
  return b.kernel.body.reduce(spec, b.kernel.body[value].type, {value});
}

NodeId binary(Graph& graph, Op op, NodeId x, NodeId y) {
  const NodeId operands[] = {x, y};
  return graph.operation(op, codegen::is_comparison(op) ? DType::b1 : graph[x].type, operands);
}

NodeId select(Graph& graph, NodeId condition, NodeId x, NodeId y) {
  const NodeId operands[] = {condition, x, y};
  return graph.operation(Op::where, graph[x].type, operands);
}

NodeId load(Builder& b, DType type, std::string_view axes, int alignment = 16) {
  return b.cast(b.load(type, axes, alignment), computed(type));
}

/// A reduction of tuples by `combiner`.
NodeId combine(Builder& b, Reduction kind, Graph combiner, std::initializer_list<NodeId> values,
               std::initializer_list<NodeId> identities) {
  Graph& body = b.kernel.body;
  const DType type = body[*values.begin()].type;
  ReductionSpec spec;
  spec.kind = kind;
  spec.combiner = std::make_shared<const Graph>(codegen::canonical(combiner));
  const NodeId value = body.primitive(NodeKind::tuple, type, values);
  const NodeId identity = body.primitive(NodeKind::tuple, type, identities);
  return body.reduce(spec, type, {value, identity});
}

NodeId component(Builder& b, NodeId reduction, std::uint64_t c, DType type) {
  return b.kernel.body.primitive(NodeKind::element, type, {reduction}, c);
}

}  // namespace

Kernel sum_kernel(DType type, std::string_view axes, int reduced, int alignment) {
  Builder b = rows(axes, reduced, IndexWidth::bits32, "sum of rows");
  b.store(reduce(b, Reduction::sum, load(b, type, axes, alignment)), per_row(axes, reduced),
          static_cast<int>(size_of(computed(type))));
  return b.finish();
}

Kernel softmax_kernel(DType type, int alignment) {
  Builder b = rows("sc", 1, IndexWidth::bits32, "e / sum(e), e = exp(x - max(x))");
  const NodeId x = load(b, type, "sc", alignment);
  const NodeId e = b.op(Op::exp, {b.op(Op::sub, {x, reduce(b, Reduction::max, x)})});
  const NodeId y = b.op(Op::div, {e, reduce(b, Reduction::sum, e)});
  b.store(b.cast(y, stored(type)), "sc", is_short(type) ? 16 : alignment);
  return b.finish();
}

Kernel joined_softmax_kernel(DType type, int alignment) {
  Kernel kernel = softmax_kernel(type, alignment);
  codegen::PassOptions options;
  options.joins_exponentials = true;
  kernel.body = codegen::run_pipeline(kernel.body, options);
  return kernel;
}

Kernel ratio_kernel(DType type, int alignment) {
  Builder b = rows("sc", 1, IndexWidth::bits32, "x / max(x)");
  const NodeId x = load(b, type, "sc", alignment);
  b.store(b.cast(b.op(Op::div, {x, reduce(b, Reduction::max, x)}), type), "sc", alignment);
  return b.finish();
}

Kernel layernorm_kernel(DType type, int alignment) {
  Builder b = rows("sc", 1, IndexWidth::bits32, "(x - mean) * rsqrt(var + eps) * w + b");
  const NodeId x = load(b, type, "sc", alignment);
  const NodeId inverse = b.parameter(computed(type)), epsilon = b.parameter(computed(type));
  const NodeId mean = b.op(Op::mul, {reduce(b, Reduction::sum, x), inverse});
  const NodeId d = b.op(Op::sub, {x, mean});
  const NodeId variance = b.op(Op::mul, {reduce(b, Reduction::sum, b.op(Op::mul, {d, d})), inverse});
  const NodeId scale = b.op(Op::rsqrt, {b.op(Op::add, {variance, epsilon})});
  const NodeId w = load(b, stored(type), "bc"), offset = load(b, stored(type), "bc");
  const NodeId y = b.op(Op::add, {b.op(Op::mul, {b.op(Op::mul, {d, scale}), w}), offset});
  b.store(b.cast(y, stored(type)), "sc", is_short(type) ? 16 : alignment);
  return b.finish();
}

Kernel logsumexp_kernel(DType type, bool beside_sum, int alignment) {
  Builder b = rows("sc", 1, IndexWidth::bits32, "logsumexp(x)");
  const NodeId x = load(b, type, "sc", alignment);
  Graph join;
  const DType t = b.kernel.body[x].type;
  const NodeId m0 = join.input(0, t), e0 = join.input(1, t);
  const NodeId m1 = join.input(2, t), e1 = join.input(3, t);
  const NodeId m = binary(join, Op::maximum, m0, m1);
  const NodeId none = join.literal_value(t, -std::numeric_limits<double>::infinity());
  const NodeId base = select(join, binary(join, Op::eq, m, none), join.literal_value(t, 0), m);
  const auto scaled = [&](NodeId e, NodeId from) {
    const NodeId exponent[] = {binary(join, Op::sub, from, base)};
    return binary(join, Op::mul, e, join.operation(Op::exp, t, exponent));
  };
  join.outputs = {m, binary(join, Op::add, scaled(e0, m0), scaled(e1, m1))};
  const NodeId infinity = b.number(t, -std::numeric_limits<double>::infinity());
  const NodeId state = combine(b, Reduction::logsumexp, join, {x, b.number(t, 1)}, {infinity, b.number(t, 0)});
  const NodeId log = b.op(Op::log, {component(b, state, 1, t)});
  b.store(b.op(Op::add, {component(b, state, 0, t), log}), "cb", static_cast<int>(size_of(t)));
  if (beside_sum) b.store(reduce(b, Reduction::sum, x), "cb", static_cast<int>(size_of(t)));
  return b.finish();
}

Kernel argmax_kernel(DType type, std::string_view axes, int alignment) {
  Builder b = rows(axes, 1, IndexWidth::bits32, "argmax(x)");
  const NodeId x = load(b, type, axes, alignment);
  std::string along(axes.size(), 'b');
  along.back() = 'c';
  const NodeId position = b.iota(along);
  Graph join;
  const NodeId v0 = join.input(0, DType::f32), i0 = join.input(1, DType::i64);
  const NodeId v1 = join.input(2, DType::f32), i1 = join.input(3, DType::i64);
  const NodeId nan0 = binary(join, Op::ne, v0, v0), nan1 = binary(join, Op::ne, v1, v1);
  const NodeId first = binary(join, Op::lt, i0, i1);
  const NodeId equal = binary(join, Op::bit_or, binary(join, Op::eq, v0, v1), binary(join, Op::bit_and, nan0, nan1));
  const NodeId invert[] = {nan1};
  const NodeId greater = binary(join, Op::bit_or, binary(join, Op::gt, v0, v1),
                                binary(join, Op::bit_and, nan0, join.operation(Op::bit_not, DType::b1, invert)));
  const NodeId left = binary(join, Op::bit_or, greater, binary(join, Op::bit_and, equal, first));
  join.outputs = {select(join, left, v0, v1), select(join, left, i0, i1)};
  const NodeId infinity = b.kernel.body.literal(DType::f32, 0xff800000u);
  const NodeId state =
      combine(b, Reduction::argmax, join, {x, position}, {infinity, b.kernel.body.literal(DType::i64, INT64_MAX)});
  b.store(component(b, state, 1, DType::i64), per_row(axes, 1), 8);
  return b.finish();
}

Kernel moments_kernel(DType type, int alignment) {
  Builder b = rows("sc", 1, IndexWidth::bits32, "mean(x), var(x)");
  const NodeId x = load(b, type, "sc", alignment);
  Graph join;
  const DType t = b.kernel.body[x].type;
  std::array<NodeId, 6> in = {};
  for (std::uint64_t i = 0; i < 6; ++i) in[i] = join.input(i, t);
  const NodeId n = binary(join, Op::add, in[0], in[3]);
  const NodeId zero = join.literal_value(t, 0), one = join.literal_value(t, 1);
  const NodeId safe = select(join, binary(join, Op::eq, n, zero), one, n);
  const NodeId share = binary(join, Op::div, in[3], safe);
  const NodeId d = binary(join, Op::sub, in[4], in[1]);
  const NodeId mean = binary(join, Op::add, in[1], binary(join, Op::mul, d, share));
  const NodeId between = binary(join, Op::mul, binary(join, Op::mul, d, d), binary(join, Op::mul, in[0], share));
  join.outputs = {n, mean, binary(join, Op::add, binary(join, Op::add, in[2], in[5]), between)};
  const NodeId nothing = b.number(t, 0);
  const NodeId state =
      combine(b, Reduction::squared_deviations, join, {b.number(t, 1), x, nothing}, {nothing, nothing, nothing});
  const NodeId count = component(b, state, 0, t);
  b.store(component(b, state, 1, t), "cb", static_cast<int>(size_of(t)));
  b.store(b.op(Op::div, {component(b, state, 2, t), count}), "cb", static_cast<int>(size_of(t)));
  return b.finish();
}

Kernel user_combiner_kernel() {
  Builder b = rows("sc", 1, IndexWidth::bits32, "smallest |x| and how often it occurs");
  const NodeId x = b.op(Op::abs, {load(b, DType::f32, "sc")});
  Graph join;
  const NodeId v0 = join.input(0, DType::f32), n0 = join.input(1, DType::i32);
  const NodeId v1 = join.input(2, DType::f32), n1 = join.input(3, DType::i32);
  const NodeId value = binary(join, Op::fmin, v0, v1), none = join.literal(DType::i32, 0);
  const NodeId left = select(join, binary(join, Op::eq, v0, value), n0, none);
  const NodeId right = select(join, binary(join, Op::eq, v1, value), n1, none);
  join.outputs = {value, binary(join, Op::add, left, right)};
  const NodeId infinity = b.kernel.body.literal(DType::f32, 0x7f800000u);
  const NodeId state =
      combine(b, Reduction::combine, join, {x, b.number(DType::i32, 1)}, {infinity, b.number(DType::i32, 0)});
  b.store(component(b, state, 0, DType::f32), "cb", 4);
  b.store(component(b, state, 1, DType::i32), "cb", 4);
  return b.finish();
}

Kernel several_in_one_pass_kernel() {
  Builder b = rows("sc", 1, IndexWidth::bits32, "sum(x * s), max(x), prod(1 + x / 64), any(x > s)");
  const NodeId x = load(b, DType::f32, "sc"), s = load(b, DType::f32, "cb", 4);
  b.store(reduce(b, Reduction::sum, b.op(Op::mul, {x, s})), "cb", 4);
  b.store(reduce(b, Reduction::max, x), "cb", 4);
  const NodeId factor = b.op(Op::add, {b.op(Op::mul, {x, b.number(DType::f32, 1.0 / 4096)}), b.number(DType::f32, 1)});
  b.store(reduce(b, Reduction::prod, factor), "cb", 4);
  b.store(reduce(b, Reduction::any, b.op(Op::gt, {x, s})), "cb", 1);
  return b.finish();
}

Kernel integer_kernel() {
  Builder b = rows("sc", 1, IndexWidth::bits32, "sum(x) in i64, max(u)");
  const NodeId x = b.load(DType::i8, "sc", 4), u = b.load(DType::u8, "sc", 4);
  b.store(reduce(b, Reduction::sum, b.cast(x, DType::i64)), "cb", 8);
  b.store(reduce(b, Reduction::max, u), "cb", 1);
  return b.finish();
}

Kernel two_kept_two_reduced_kernel(IndexWidth index, int alignment) {
  Builder b = rows("sssc", 2, index, "x - mean over two axes, with a position");
  const NodeId x = load(b, DType::f32, "sssc", alignment), y = load(b, DType::f32, "bsbc", alignment);
  const NodeId at = b.cast(b.iota("bbsc"), DType::f32);
  const NodeId product = b.op(Op::mul, {b.op(Op::add, {x, y}), at});
  const NodeId total = reduce(b, Reduction::sum, product);
  b.store(total, "scbb", 4);
  b.store(b.op(Op::sub, {x, b.op(Op::mul, {total, b.number(DType::f32, 0.001)})}), "sssc", alignment);
  return b.finish();
}

}  // namespace kiln::golden
