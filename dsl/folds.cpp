// dsl/folds.cpp -- arithmetic of displaced axes.
#include "dsl/folds.h"

#include <algorithm>

#include "support/check.h"

namespace kiln::dsl {

using codegen::Fold;

bool any_active(const AxisFolds& folds) {
  return std::any_of(folds.begin(), folds.end(), [](const AxisFold& fold) { return fold.is_active(); });
}

AxisFold forward(const AxisFold& fold) {
  if (fold.step > 0 || !fold.is_active()) return fold;
  return {fold.kind, fold.length - 1 - fold.start, -fold.step, fold.length, -fold.stride};
}

AxisFold reversed(const AxisFold& fold, std::int64_t extent) {
  AxisFold result = fold;
  result.start += fold.step * (extent - 1);
  result.step = -fold.step;
  return forward(result);
}

std::int64_t unfolded_offset(std::int64_t offset, const AxisFolds& folds) {
  for (const AxisFold& fold : folds)
    if (fold.is_active()) offset -= fold.start * fold.stride;
  return offset;
}

Strided reached(const Strided& view, const AxisFolds& folds) {
  Strided result = view;
  result.offset = unfolded_offset(view.offset, folds);
  for (int axis = 0; axis < view.shape.rank; ++axis) {
    if (!folds[axis].is_active()) continue;
    result.shape.extents[axis] = folds[axis].length;
    result.strides[axis] = folds[axis].stride;
  }
  return result;
}

namespace {

/// `value` modulo `period`, in [0, period).
std::int64_t modulo(std::int64_t value, std::int64_t period) {
  const std::int64_t rest = value % period;
  return rest < 0 ? rest + period : rest;
}

/// `value` modulo `period`, in (-period / 2, period / 2].
std::int64_t centred_modulo(std::int64_t value, std::int64_t period) {
  const std::int64_t rest = modulo(value, period);
  return rest > period / 2 ? rest - period : rest;
}

}  // namespace

Displacement displacement(const ViewSpec& spec, int axis, std::int64_t extent) {
  using Boundary = ViewSpec::Boundary;
  const std::int64_t by = spec.numbers[static_cast<std::size_t>(axis) + 1];
  if (extent == 0 || by == 0) return {};
  switch (static_cast<Boundary>(spec.numbers[0])) {
    case Boundary::clamp:
      return {Fold::clamp, false, std::clamp(by, -extent, extent)};
    case Boundary::fill:
      return {Fold::clamp, true, std::clamp(by, -extent, extent)};
    case Boundary::wrap:
      return {Fold::wrap, false, centred_modulo(by, extent)};
    case Boundary::reflect:
      return {Fold::reflect, false, extent == 1 ? 0 : centred_modulo(by, 2 * (extent - 1))};
    case Boundary::symmetric:
      return {Fold::symmetric, false, centred_modulo(by, 2 * extent)};
  }
  KILN_INTERNAL_CHECK(false, "boundary {}", spec.numbers[0]);
  return {};
}

std::int64_t folded(Fold kind, std::int64_t position, std::int64_t length) {
  const std::int64_t p = position, n = length;
  switch (kind) {
    case Fold::none:
      break;
    case Fold::clamp:
      return std::clamp<std::int64_t>(p, 0, n - 1);
    case Fold::wrap:
      return p < 0 ? p + n : p >= n ? p - n : p;
    case Fold::reflect: {
      const std::int64_t q = p < 0 ? -p : p;
      return q >= n ? 2 * (n - 1) - q : q;
    }
    case Fold::symmetric: {
      const std::int64_t q = p < 0 ? -1 - p : p;
      return q >= n ? 2 * n - 1 - q : q;
    }
  }
  return p;
}

}  // namespace kiln::dsl
