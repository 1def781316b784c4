// dsl/recorder_reductions.cpp -- reductions and scans of a trace: what users call, made of the few that graphs know.
#include <algorithm>
#include <array>

#include <kiln/detail/axes.h>
#include <kiln/detail/reduction_rules.h>

#include "dsl/recorder.h"
#include "dsl/shapes.h"
#include "support/check.h"

namespace kiln::detail {
namespace {

using codegen::NodeKind;
using codegen::Reduction;
using codegen::ReductionSpec;

codegen::Location location_of(Where where) { return {where.file, where.line}; }

const char* name_of(Reducing function) {
  constexpr const char* names[] = {"sum",    "prod",   "max",     "min",    "mean",   "var",       "std_",
                                   "any",    "all",    "argmax",  "argmin", "norm",   "logsumexp", "count_nonzero",
                                   "reduce", "cumsum", "cumprod", "cummax", "cummin", "scan"};
  return names[static_cast<int>(function)];
}

/// Axes as written, -8 to 7.
struct Written {
  bool all = false;
  int count = 0;
  std::int64_t axes[max_rank] = {};
};

Written written(const ReductionCall& call) {
  Written w;
  w.all = (call.bits & ReductionCall::named) == 0;
  w.count = static_cast<int>(call.bits >> ReductionCall::count_shift & 15);
  for (int i = 0; i < w.count; ++i) {
    const auto four_bits = static_cast<std::int64_t>(call.bits >> (4 * i) & 15);
    w.axes[i] = four_bits >= 8 ? four_bits - 16 : four_bits;
  }
  return w;
}

/// The axes as bits; negative ones count from the end.
std::uint8_t axis_bits(const Written& w, const char* name, int rank, Where where) {
  unsigned bits = 0;
  for (int i = 0; i < w.count; ++i) {
    const std::int64_t axis = w.axes[i];
    if (rank == 0) {
      fail<ShapeError>("kl::{}: axis {} of a value without axes{}; leave the axis out", name, axis, dsl::place(where));
    }
    if (axis < -rank || axis >= rank) {
      fail<ShapeError>("kl::{}: axis {} does not exist in an expression of rank {}{}; use {} to {}", name, axis, rank,
                       dsl::place(where), -rank, rank - 1);
    }
    const unsigned bit = 1u << (axis < 0 ? axis + rank : axis);
    if (bits & bit) {
      fail<ShapeError>("kl::{}: axes {} of an expression of rank {} name axis {} twice{}; name each axis once", name,
                       dsl::to_text({w.axes, static_cast<std::size_t>(w.count)}), rank, axis, dsl::place(where));
    }
    bits |= bit;
  }
  return static_cast<std::uint8_t>(bits);
}

/// The single axis of a scan.
std::uint8_t scan_axis(const Written& w, const char* name, int rank, Where where) {
  if (rank == 0) fail<ShapeError>("kl::{} of a value without axes{}; it needs one axis", name, dsl::place(where));
  if (!w.all && w.count != 1) {
    fail<ShapeError>("kl::{}: axes {}{}; a scan runs along one axis", name,
                     dsl::to_text({w.axes, static_cast<std::size_t>(w.count)}), dsl::place(where));
  }
  if (w.all && rank > 1) {
    fail<ShapeError>("kl::{} of an expression of rank {} needs an axis{}; use {} to {}", name, rank, dsl::place(where),
                     -rank, rank - 1);
  }
  return w.all ? 1 : axis_bits(w, name, rank, where);
}

/// The type in which the quotients of mean and var are computed: an f16 count would overflow.
DType quotient_type(DType t) { return compute_type(t); }

ReductionSpec specification(Reduction kind, std::uint8_t axes, bool keepdims) {
  ReductionSpec spec;
  spec.kind = kind;
  spec.axes = axes;
  spec.keepdims = keepdims;
  return spec;
}

}  // namespace

Recorder::Reduced Recorder::resolve(const ReductionCall& call, NodeId value, Where where) {
  const auto function = static_cast<Reducing>(call.bits >> ReductionCall::function_shift & 0xff);
  Reduced r;
  r.function = function;
  r.name = name_of(function);
  r.where = where;
  r.value = value;
  check_node(value, r.name, where);
  r.value = value = with_loops(value, where);
  const int rank = item_rank(value);
  const Written w = written(call);
  r.keepdims = !is_scan(function) && (call.bits & ReductionCall::keepdims) != 0;
  if (is_scan(function)) {
    r.axes = static_cast<std::uint8_t>(scan_axis(w, r.name, rank, where) << loop_rank_);
    return r;
  }
  const unsigned item_axes = w.all ? (1u << rank) - 1 : axis_bits(w, r.name, rank, where);
  r.axes = static_cast<std::uint8_t>(item_axes << loop_rank_);
  if (r.axes == 0) {  // of no axes at all: every element by itself, as if along a new axis of extent 1
    r.value = in_front(value, where);
    r.axes = 1;
    r.keepdims = false;
  }
  return r;
}

/// With a new first axis of extent 1.
NodeId Recorder::in_front(NodeId value, Where where) {
  const codegen::Node node = graph_[value];
  if (node.kind == NodeKind::tuple) {
    std::array<NodeId, 3> each{};
    for (unsigned i = 0; i < node.arity; ++i) each[i] = in_front(node.operands[i], where);
    return tuple(each.data(), node.arity, where);
  }
  const std::int64_t front = 0;
  return view(value, static_cast<int>(ViewKind::unsqueeze), &front, 1, where);
}

NodeId Recorder::reduction(const ReductionCall& call, DType result, const NodeId* operands, unsigned count,
                           Where where) {
  const Reduced r = resolve(call, operands[0], where);
  const DType type = graph_[operands[0]].type;
  if (r.function == Reducing::reduce || r.function == Reducing::scan) {
    KILN_INTERNAL_CHECK(call.extra, "kl::{} without function", r.name);
    return count == 1 ? combine_some(r, call) : combine(r, call, operands[1]);
  }
  KILN_INTERNAL_CHECK(count == 1, "{} operands for kl::{}", count, r.name);
  const bool accumulates = r.function == Reducing::sum || r.function == Reducing::prod || r.function == Reducing::mean;
  const ReductionType natural = reduction_type(r.function, type);
  const ReductionType chosen =
      accumulates && result != natural.result ? accumulating_type(r.function, result) : natural;
  if (chosen.fault != ReductionFault::none) {
    fail<TypeError>("kl::{} is not defined for elements of type {}{}; cast them first", r.name, kiln::name_of(type),
                    dsl::place(where));
  }
  if (chosen.result != result) {
    fail<TypeError>("kl::{} of {} gives {}, but its result was declared as {}{}", r.name, kiln::name_of(type),
                    kiln::name_of(chosen.result), kiln::name_of(result), dsl::place(where));
  }
  return compose(r, result, static_cast<std::int64_t>(call.extra));
}

NodeId Recorder::compose(const Reduced& r, DType result, std::int64_t ddof) {
  const Where where = r.where;
  switch (r.function) {
    case Reducing::sum:
    case Reducing::cumsum:
      return reduce(r, Reduction::sum, widen(r.value, result, where));
    case Reducing::prod:
    case Reducing::cumprod:
      return reduce(r, Reduction::prod, widen(r.value, result, where));
    case Reducing::max:
    case Reducing::cummax:
      return extreme(r, Reduction::max, r.value);
    case Reducing::min:
    case Reducing::cummin:
      return extreme(r, Reduction::min, r.value);
    case Reducing::any:
      return reduce(r, Reduction::any, truth(r.value, where));
    case Reducing::all:
      return reduce(r, Reduction::all, truth(r.value, where));
    case Reducing::count_nonzero:
      return reduce(r, Reduction::sum, cast(truth(r.value, where), DType::i64, where));
    case Reducing::argmax:
      return position(r, Reduction::argmax, r.value);
    case Reducing::argmin:
      return position(r, Reduction::argmin, r.value);
    case Reducing::logsumexp:
      return reduce(r, Reduction::logsumexp, widen(r.value, result, where));
    case Reducing::mean:
      return mean(r, widen(r.value, result, where), result);
    case Reducing::var:
      return unrounded(variance(r, result, ddof), result, where);
    case Reducing::std_: {
      const NodeId squared = variance(r, result, ddof);
      return unrounded(operation(Op::sqrt, graph_[squared].type, &squared, 1, where), result, where);
    }
    case Reducing::norm:
      return norm(r, widen(r.value, floating_type(graph_[r.value].type), where));
    case Reducing::reduce:
    case Reducing::scan:
      break;
  }
  KILN_INTERNAL_CHECK(false, "kl::{}", r.name);
  return codegen::no_node;
}

/// The node of the graph: axes and rank are those of `r`.
NodeId Recorder::append(const Reduced& r, const ReductionSpec& spec, DType type,
                        std::initializer_list<NodeId> operands) {
  const int rank = ranks_[*operands.begin()];
  if (is_scan(r.function)) return known(graph_.scan(spec, type, operands, location_of(r.where)), rank);
  const int kept = r.keepdims ? rank : rank - __builtin_popcount(r.axes);
  return known(graph_.reduce(spec, type, operands, location_of(r.where)), kept);
}

NodeId Recorder::reduce(const Reduced& r, Reduction kind, NodeId value) {
  return append(r, specification(kind, r.axes, r.keepdims), graph_[value].type, {value});
}

NodeId Recorder::extent(const Reduced& r, NodeId value, DType type, std::uint8_t axes, std::int64_t subtract) {
  ReductionSpec spec = specification(Reduction::sum, axes, false);
  spec.subtract = subtract;
  return known(graph_.extent(value, type, spec, location_of(r.where)), 0);
}

/// f16 and bf16 results keep their f32 value until it is stored.
NodeId Recorder::unrounded(NodeId value, DType type, Where where) {
  if (graph_[value].type == type) return value;
  codegen::Node node{.kind = NodeKind::cast, .type = type, .arity = 1, .payload = codegen::unrounded_cast};
  node.operands[0] = value;
  return add(node, ranks_[value], where);
}

NodeId Recorder::mean(const Reduced& r, NodeId value, DType result) {
  const DType type = quotient_type(result);
  const NodeId total = widen(reduce(r, Reduction::sum, value), type, r.where);
  const NodeId count = extent(r, value, real_of(type), r.axes, 0);
  const NodeId operands[] = {total, widen(count, type, r.where)};
  return unrounded(operation(Op::div, type, operands, 2, r.where), result, r.where);
}

/// In the type of quotients: f32 for f16 and bf16.
NodeId Recorder::variance(const Reduced& r, DType result, std::int64_t ddof) {
  const DType type = quotient_type(result);
  const NodeId count = extent(r, r.value, type, r.axes, 0);
  const auto deviations = [&](NodeId value) {
    return append(r, specification(Reduction::squared_deviations, r.axes, r.keepdims), result, {value, count});
  };
  NodeId total;
  if (is_complex(graph_[r.value].type)) {
    const NodeId parts[] = {deviations(operation(Op::real, result, &r.value, 1, r.where)),
                            deviations(operation(Op::imag, result, &r.value, 1, r.where))};
    total = operation(Op::add, result, parts, 2, r.where);
  } else {
    total = deviations(widen(r.value, result, r.where));
  }
  const NodeId divisor = ddof == 0 ? count : extent(r, r.value, type, r.axes, ddof);
  const NodeId operands[] = {widen(total, type, r.where), divisor};
  return operation(Op::div, type, operands, 2, r.where);
}

NodeId Recorder::norm(const Reduced& r, NodeId value) {
  const DType type = graph_[value].type, real = real_of(type);
  const auto square = [&](NodeId x) {
    const NodeId factors[] = {x, x};
    return operation(Op::mul, real, factors, 2, r.where);
  };
  NodeId squares;
  if (is_complex(type)) {
    const NodeId parts[] = {square(operation(Op::real, real, &value, 1, r.where)),
                            square(operation(Op::imag, real, &value, 1, r.where))};
    squares = operation(Op::add, real, parts, 2, r.where);
  } else {
    squares = square(value);
  }
  const NodeId total = reduce(r, Reduction::sum, squares);
  return operation(Op::sqrt, real, &total, 1, r.where);
}

/// max and min, of bool by way of u8: they have no value for no elements, unlike any and all.
NodeId Recorder::extreme(const Reduced& r, Reduction kind, NodeId value) {
  if (graph_[value].type != DType::b1) return reduce(r, kind, value);
  return truth(reduce(r, kind, cast(value, DType::u8, r.where)), r.where);
}

/// The position is counted in C order over the reduced axes.
NodeId Recorder::position(const Reduced& r, Reduction kind, NodeId value) {
  const auto arithmetic = [&](Op op, NodeId a, NodeId b) {
    const NodeId operands[] = {a, b};
    return operation(op, DType::i64, operands, 2, r.where);
  };
  NodeId number = codegen::no_node;
  for (int axis = 0; axis < ranks_[value]; ++axis) {
    if ((r.axes >> axis & 1) == 0) continue;
    const NodeId coordinate = index(value, axis, r.where);
    if (number != codegen::no_node) {
      const NodeId length = extent(r, value, DType::i64, static_cast<std::uint8_t>(1u << axis), 0);
      number = arithmetic(Op::add, arithmetic(Op::mul, number, length), coordinate);
    } else {
      number = coordinate;
    }
  }
  if (graph_[value].type == DType::b1) value = cast(value, DType::u8, r.where);
  return append(r, specification(kind, r.axes, r.keepdims), DType::i64, {value, number});
}

/// `value != 0`: NaN is true.
NodeId Recorder::truth(NodeId value, Where where) {
  const DType type = graph_[value].type;
  if (type == DType::b1) return value;
  const NodeId operands[] = {value, literal(type, 0, 0, where)};
  return operation(Op::ne, DType::b1, operands, 2, where);
}

// ------------------------------------------------------------------ bridge
NodeId record_reduction(Recorder& r, const ReductionCall& call, DType result, const NodeId* operands, unsigned count,
                        Where where) {
  return r.reduction(call, result, operands, count, where);
}
void axis_beyond_ranks(std::int64_t axis, Where where) {
  fail<ShapeError>("axis {} does not exist{}: arrays have at most {} axes, numbered {} to {}", axis, dsl::place(where),
                   max_rank, -max_rank, max_rank - 1);
}

void axes_given_twice(Where where) {
  fail<ShapeError>("a reduction with two axis arguments{}; give several axes in braces, as in kl::sum(x, {{0, 1}})",
                   dsl::place(where));
}

}  // namespace kiln::detail
