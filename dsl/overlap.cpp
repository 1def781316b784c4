// dsl/overlap.cpp -- a bounded integer feasibility problem: sum of coefficient * variable within an interval.
#include "dsl/overlap.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace kiln::dsl {
namespace {

/// coefficient * x with lowest <= x <= highest; the coefficient is positive.
struct Term {
  std::int64_t coefficient = 1, lowest = 0, highest = 0;
};

constexpr int search_limit = 20'000;

// Sums of coefficient * extent stay below 2^63 for each operand (layouts are checked), but not for two together.
using Wide = __int128;

std::int64_t ceil_div(Wide a, std::int64_t b) {
  return static_cast<std::int64_t>(a >= 0 ? (a + b - 1) / b : -(-a / b));
}
std::int64_t floor_div(Wide a, std::int64_t b) { return -ceil_div(-a, b); }

/// Depth-first search for sum(terms) in [low, high], largest coefficient first, pruned by what the rest can reach and
/// by the common divisor of the rest. Gives up with true. Strides of one array nest, so each level has few candidates.
class Search {
 public:
  explicit Search(std::vector<Term> terms) : terms_(std::move(terms)) {
    std::sort(terms_.begin(), terms_.end(), [](const Term& a, const Term& b) { return a.coefficient > b.coefficient; });
    const std::size_t count = terms_.size();
    least_.assign(count + 1, 0);
    most_.assign(count + 1, 0);
    divisor_.assign(count + 1, 0);
    for (std::size_t i = count; i-- > 0;) {
      const Term& term = terms_[i];
      least_[i] = least_[i + 1] + Wide{term.coefficient} * term.lowest;
      most_[i] = most_[i + 1] + Wide{term.coefficient} * term.highest;
      divisor_[i] = std::gcd(divisor_[i + 1], term.coefficient);
    }
  }

  bool feasible(Wide low, Wide high) {
    struct Level {
      Wide low, high;
      std::int64_t next, last;
    };
    std::vector<Level> stack;
    const auto open = [&](Wide from, Wide to) {
      const std::size_t depth = stack.size();
      const Term& term = terms_[depth];
      const std::int64_t first = std::max(term.lowest, ceil_div(from - most_[depth + 1], term.coefficient));
      const std::int64_t last = std::min(term.highest, floor_div(to - least_[depth + 1], term.coefficient));
      stack.push_back({from, to, first, last});
    };
    if (!reachable(0, low, high)) return false;
    if (terms_.empty()) return true;
    open(low, high);
    int steps = 0;
    while (!stack.empty()) {
      Level& level = stack.back();
      if (level.next > level.last) {
        stack.pop_back();
        continue;
      }
      if (++steps > search_limit) return true;
      const Wide part = Wide{terms_[stack.size() - 1].coefficient} * level.next++;
      const Wide from = level.low - part, to = level.high - part;
      if (!reachable(stack.size(), from, to)) continue;
      if (stack.size() == terms_.size()) return true;
      open(from, to);
    }
    return false;
  }

 private:
  /// Could the terms from `depth` on sum into [low, high], as far as bounds and the common divisor tell?
  bool reachable(std::size_t depth, Wide low, Wide high) const {
    low = std::max(low, least_[depth]);
    high = std::min(high, most_[depth]);
    if (low > high) return false;
    const std::int64_t divisor = divisor_[depth];
    if (divisor == 0) return low <= 0 && high >= 0;
    return Wide{ceil_div(low, divisor)} * divisor <= high;
  }

  std::vector<Term> terms_;
  std::vector<Wide> least_, most_;
  std::vector<std::int64_t> divisor_;
};

bool is_empty(const ByteSet& set) {
  const auto extents = set.view.shape.span();
  return std::find(extents.begin(), extents.end(), 0) != extents.end();
}

/// Adds `sign` times the byte offsets of `set` to the terms and to `constant`; backward axes are turned round.
void add_terms(std::vector<Term>& terms, Wide& constant, const ByteSet& set, int sign) {
  for (int axis = 0; axis < set.view.shape.rank; ++axis) {
    const std::int64_t steps = set.view.shape.extents[axis] - 1;
    const std::int64_t stride = set.view.strides[axis] * set.bytes * sign;
    if (steps == 0 || stride == 0) continue;
    if (stride < 0) constant += Wide{stride} * steps;
    const std::int64_t coefficient = stride < 0 ? -stride : stride;
    const auto same =
        std::find_if(terms.begin(), terms.end(), [&](const Term& term) { return term.coefficient == coefficient; });
    if (same != terms.end())
      same->highest += steps;
    else
      terms.push_back({coefficient, 0, steps});
  }
}

}  // namespace

bool may_overlap(const ByteSet& a, const ByteSet& b) {
  if (is_empty(a) || is_empty(b)) return false;
  std::vector<Term> terms;
  Wide constant = Wide{a.address} - Wide{b.address};
  add_terms(terms, constant, a, 1);
  add_terms(terms, constant, b, -1);
  // Byte ranges [x, x + a.bytes) and [y, y + b.bytes) meet when x - y is in (-a.bytes, b.bytes).
  return Search(std::move(terms)).feasible(-Wide{a.bytes} + 1 - constant, Wide{b.bytes} - 1 - constant);
}

bool same_elements(const ByteSet& a, const ByteSet& b) {
  if (a.address != b.address || a.bytes != b.bytes || a.view.shape != b.view.shape) return false;
  for (int axis = 0; axis < a.view.shape.rank; ++axis) {
    if (a.view.shape.extents[axis] > 1 && a.view.strides[axis] != b.view.strides[axis]) return false;
  }
  return true;
}

bool overlaps_itself(const ByteSet& set) {
  if (is_empty(set)) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // (byte stride, extent)
  for (int axis = 0; axis < set.view.shape.rank; ++axis) {
    if (set.view.shape.extents[axis] == 1) continue;
    const std::int64_t stride = set.view.strides[axis] * set.bytes;
    axes.emplace_back(stride < 0 ? -stride : stride, set.view.shape.extents[axis]);
  }
  std::sort(axes.begin(), axes.end());
  Wide covered = set.bytes;  // one past the last byte that the smaller strides reach
  bool nested = true;
  for (const auto& [stride, extent] : axes) {
    nested = nested && stride >= covered;
    covered += Wide{stride} * (extent - 1);
  }
  if (nested) return false;
  if (axes.front().first == 0) return true;
  // Two indices differ first in axis `lead`, there by at least one.
  for (std::size_t lead = 0; lead < axes.size(); ++lead) {
    std::vector<Term> terms{{axes[lead].first, 1, axes[lead].second - 1}};
    for (std::size_t i = lead + 1; i < axes.size(); ++i)
      terms.push_back({axes[i].first, 1 - axes[i].second, axes[i].second - 1});
    if (Search(std::move(terms)).feasible(1 - set.bytes, set.bytes - 1)) return true;
  }
  return false;
}

}  // namespace kiln::dsl
