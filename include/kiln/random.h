// kiln/random.h -- counter-based random arrays (Philox): the same numbers on every device.
#pragma once

#include <kiln/create.h>

namespace kiln::random {
namespace detail_random {

template <class T, bool Normal>
Array<T> make(const Shape& shape, std::uint64_t seed, detail::Where w) {
  static_assert(is_floating(dtype_of<T>), "kiln: random numbers are floating; cast the result for integers");
  using S = detail::Random<dtype_of<T>, Normal>;
  const detail::Slot counter = detail::slot_of(detail::counter_operand(shape.data(), shape.rank(), w));
  const detail::Slot key = detail::number_slot(seed);
  const detail::Take take = detail::take_both(detail::take_slots(1, false), detail::take_slots(1, false));
  return Array<T>(Expression<S>(detail::OfSlots{}, w, take, &counter, &key), w);
}

}  // namespace detail_random

/// Uniform in [0, 1). Element i of the array depends on the seed and i alone.
template <class T = float>
Array<T> uniform(const Shape& shape, std::uint64_t seed, detail::Where w = detail::Where::current()) {
  return detail_random::make<T, false>(shape, seed, w);
}
/// Mean 0, variance 1.
template <class T = float>
Array<T> normal(const Shape& shape, std::uint64_t seed, detail::Where w = detail::Where::current()) {
  return detail_random::make<T, true>(shape, seed, w);
}

}  // namespace kiln::random
