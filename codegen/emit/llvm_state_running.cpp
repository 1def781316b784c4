// codegen/emit/llvm_state_running.cpp -- sums that keep what rounding loses: plain ones, of exponentials relative to a
// maximum found on the way, and of squared deviations from a mean found on the way.
#include <algorithm>
#include <limits>

#include "codegen/emit/llvm_state.h"

namespace kiln::codegen {
namespace {

/// The exact rounding error of sum = a + b (Knuth): only additions, so nothing can contract them.
IrValue rounding_error(const IrValue& a, const IrValue& b, const IrValue& sum) {
  const IrValue part = sum - a;
  return (a - (sum - part)) + (b - part);
}

/// Infinities and NaN make a correction NaN, and adding zero would lose the sign of a zero sum.
IrValue is_usable(const IrValue& correction) {
  const IrValue magnitude = absolute(correction);
  return (magnitude < std::numeric_limits<double>::infinity()) & (magnitude > 0);
}

IrValue tree_of(std::vector<IrValue> values) {
  for (std::size_t step = 1; step < values.size(); step *= 2) {
    for (std::size_t k = 0; k + step < values.size(); k += 2 * step) values[k] = values[k] + values[k + step];
  }
  return values[0];
}

enum Exponentials : std::size_t { largest, sum, base, sum_low };
enum Deviations : std::size_t { number, mean, squares, mean_low, squares_low };

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> ReductionState::corrections() const {
  if (!is_running()) return {};
  if (form_ == Form::compensated) return {{0, 1}};
  if (form_ == Form::exponentials) return {{sum, sum_low}};
  return {{mean, mean_low}, {squares, squares_low}};
}

Parts ReductionState::settled(const Parts& state) const {
  Parts result = state;
  for (const auto& [of, low] : corrections()) {
    const IrValue moved = state[of] + state[low], usable = is_usable(state[low]);
    result[of] = select(usable, moved, state[of]);
    result[low] = select(usable, rounding_error(state[of], state[low], moved), state[low]);
  }
  return result;
}

/// `b` may lack the correction.
Parts ReductionState::join_sums(const Parts& a, const Parts& b) const {
  const IrValue joint = a[0] + b[0], low = b.size() > 1 ? a[1] + b[1] : a[1];
  return {joint, low + rounding_error(a[0], b[0], joint)};
}

/// exp(from - to), and 1 where both are the same infinity.
IrValue ReductionState::scale(const IrValue& from, const IrValue& to) const {
  MathContext context{frame_.b, frame_.library};
  return call(context, "exp", {select(equal(from, to), number_like(from, 0), from - to)});
}

Parts ReductionState::join_exponentials(const Parts& a, const Parts& b) const {
  const IrValue common = most(a[base], b[base]);
  const IrValue left = scale(a[base], common), right = scale(b[base], common);
  const IrValue left_sum = a[sum] * left, right_sum = b[sum] * right, joint = left_sum + right_sum;
  const IrValue low = a[sum_low] * left + b[sum_low] * right;
  return {most(a[largest], b[largest]), joint, common, low + rounding_error(left_sum, right_sum, joint)};
}

/// One more exponential than there are elements. An infinite maximum is the result, through the exponentials of the
/// values as they are.
Parts ReductionState::add_exponentials(const Parts& a, const std::vector<Parts>& elements) const {
  MathContext context{frame_.b, frame_.library};
  IrValue highest = a[largest];
  for (const Parts& element : elements) highest = select(element[0] > highest, element[0], highest);
  const IrValue next = select(highest > a[base] + 1.0, highest, a[base]);
  const IrValue offset = select(absolute(next) < std::numeric_limits<double>::infinity(), next, number_like(next, 0));
  std::vector<IrValue> terms;
  for (const Parts& element : elements) terms.push_back(call(context, "exp", {element[0] - offset}));
  const IrValue before = scale(a[base], next), left = a[sum] * before, batch = tree_of(std::move(terms));
  const IrValue joint = left + batch;
  return {highest, joint, next, a[sum_low] * before + rounding_error(left, batch, joint)};
}

/// Chan, Golub and LeVeque (1979). In this order nothing overflows that is multiplied by the 0 of an empty state.
Parts ReductionState::join_deviations(const Parts& a, const Parts& b) const {
  const IrValue count = a[number] + b[number], share = b[number] / most(count, number_like(count, 1));
  IrValue difference = b[mean] - a[mean] - a[mean_low];
  IrValue low = a[squares_low];
  if (b.size() > squares_low) {
    difference = difference + b[mean_low];
    low = low + b[squares_low];
  }
  const IrValue step = difference * share, center = a[mean] + step;
  const IrValue added = b[squares] + difference * (a[number] * share) * difference, total = a[squares] + added;
  return {count, center, total, a[mean_low] + rounding_error(a[mean], step, center),
          low + rounding_error(a[squares], added, total)};
}

/// A batch takes its mean first, relative to its first element so that equal elements deviate by 0.
Parts ReductionState::add_deviations(const Parts& a, const std::vector<Parts>& elements) const {
  if (elements.size() == 1) return join_deviations(a, elements[0]);
  const auto count = static_cast<double>(elements.size());
  const IrValue& origin = elements[0][mean];
  std::vector<IrValue> differences, terms;
  for (const Parts& element : elements) differences.push_back(element[mean] - origin);
  const IrValue center = origin + tree_of(std::move(differences)) * (1 / count);
  for (const Parts& element : elements) {
    const IrValue deviation = element[mean] - center;
    terms.push_back(deviation * deviation);
  }
  return join_deviations(a, {number_like(center, count), center, tree_of(std::move(terms))});
}

/// The values of the node.
Parts ReductionState::total(const Parts& state) const {
  Parts result = settled(state);
  if (form_ == Form::exponentials) result[sum] = result[sum] * scale(state[base], state[largest]);
  result.resize(monoid_.components.size());
  return result;
}

}  // namespace kiln::codegen
