// codegen/emit/llvm_folds.cpp -- operands of CPU kernels read displaced: rows folded once, vectors only at the borders.
#include <fmt/format.h>

#include "codegen/emit/llvm_access.h"
#include "codegen/emit/llvm_loops.h"

namespace kiln::codegen {
namespace {

std::string choose(IrBuilder& b, const char* predicate, const std::string& a, const std::string& c,
                   const std::string& then, const std::string& otherwise) {
  const std::string holds = b.emit_scalar(fmt::format("icmp {} i64 {}, {}", predicate, a, c));
  return b.emit_scalar(fmt::format("select i1 {}, i64 {}, i64 {}", holds, then, otherwise));
}

std::string subtract(IrBuilder& b, const std::string& a, const std::string& c) {
  return b.emit_scalar(fmt::format("sub i64 {}, {}", a, c));
}

std::string fold_scalar(IrBuilder& b, Fold kind, const std::string& p, const std::string& n) {
  const std::string last = subtract(b, n, "1");
  switch (kind) {
    case Fold::none:
      return p;
    case Fold::clamp:
      return scalar_least(b, scalar_greatest(b, p, "0"), last);
    case Fold::wrap: {
      const std::string above = choose(b, "sgt", p, last, subtract(b, p, n), p);
      return choose(b, "slt", p, "0", scalar_add(b, p, n), above);
    }
    case Fold::reflect:
    case Fold::symmetric: {
      const std::string edge = kind == Fold::reflect ? "0" : "-1";
      const std::string inside = choose(b, "slt", p, "0", subtract(b, edge, p), p);
      const std::string past = subtract(b, inside, kind == Fold::reflect ? last : n);
      return choose(b, "sgt", inside, last, subtract(b, last, past), inside);
    }
  }
  return p;
}

IrValue fold_lanes(Fold kind, const IrValue& p, const IrValue& n) {
  const IrValue last = n - 1.0;
  switch (kind) {
    case Fold::none:
      return p;
    case Fold::clamp:
      return least(most(p, number_like(p, 0)), last);
    case Fold::wrap:
      return select(p < 0.0, p + n, select(p > last, p - n, p));
    case Fold::reflect:
    case Fold::symmetric: {
      const double edge = kind == Fold::reflect ? 0 : -1;
      const IrValue inside = select(p < 0.0, edge - p, p);
      return select(inside > last, last - (inside - (kind == Fold::reflect ? last : n)), inside);
    }
  }
  return p;
}

}  // namespace

std::string position_of(IrBuilder& b, const AccessState& state, std::size_t axis, const std::string& coordinate) {
  const AccessState::Fold& fold = state.folds[axis];
  return scalar_add(b, scalar_multiply(b, coordinate, fold.step), fold.start);
}

std::string folded_position(IrBuilder& b, const AccessState& state, std::size_t axis, const std::string& coordinate) {
  return fold_scalar(b, state.access->folds[axis].kind, position_of(b, state, axis, coordinate),
                     state.folds[axis].length);
}

IrValue folded_lanes(IrBuilder& b, const AccessState& state, const std::string& i) {
  const std::size_t axis = state.vector_axis;
  const AccessState::Fold& fold = state.folds[axis];
  const IrValue first = b.splat(Lane::i64, position_of(b, state, axis, i));
  const IrValue positions = first + b.lane_numbers(Lane::i64) * b.splat(Lane::i64, fold.step);
  const IrValue inside = fold_lanes(state.access->folds[axis].kind, positions, b.splat(Lane::i64, fold.length));
  return inside * b.splat(Lane::i64, state.stride(axis));
}

std::string needs_no_fold(IrBuilder& b, const AccessState& state, const std::string& i) {
  const std::size_t axis = state.vector_axis;
  if (!state.access->folds[axis].unit_step) return "false";
  const std::string first = position_of(b, state, axis, i);
  const std::string end = scalar_add(b, first, std::to_string(b.width()));
  const std::string low = b.emit_scalar(fmt::format("icmp sge i64 {}, 0", first));
  const std::string high = b.emit_scalar(fmt::format("icmp sle i64 {}, {}", end, state.folds[axis].length));
  return b.emit_scalar(fmt::format("and i1 {}, {}", low, high));
}

}  // namespace kiln::codegen
