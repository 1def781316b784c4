// kiln/random_at.h -- random numbers inside of compiled functions: Philox, a number for each counter.
//
//   auto path = kl::jit([](auto spot, auto seed) { return spot * kl::exp(kl::random::normal_at(kl::index(spot, 0),
//   seed)); });
#pragma once

#include <kiln/functions.h>

namespace kiln::random {
namespace detail_random {

template <class T, bool Normal, class C, class K>
auto at(const C& counter, const K& seed, detail::Where w) {
  using namespace detail;
  static_assert(is_floating(dtype_of<T>), "kiln: random numbers are floating; cast the result for integers");
  constexpr bool traced = role_of<C> == Role::traced || role_of<K> == Role::traced;
  static_assert(traced,
                "kiln: uniform_at and normal_at work inside of kl::jit; kl::random::uniform<float>({n}, seed) "
                "makes an array");
  if constexpr (traced) {
    static_assert(is_integer(Operand<C>::type.type) && is_integer(Operand<K>::type.type),
                  "kiln: counter and seed of a random number are integers");
    Recorder& recorder = *common_recorder(recorder_of(counter), recorder_of(seed), w);
    const NodeId nodes[] = {node_as(recorder, counter, Operand<C>::type.type, w),
                            node_as(recorder, seed, DType::u64, w)};
    return Sym<T>(recorder, record_random(recorder, nodes[0], nodes[1], Normal, dtype_of<T>, w));
  }
}

}  // namespace detail_random

/// Uniform in [0, 1): number `counter` of the stream `seed`, element `counter` of uniform<T>({n}, seed). Both are
/// integers, one of them a traced value; they broadcast.
template <class T = float, class C, class K>
auto uniform_at(const C& counter, const K& seed, detail::Where w = detail::Where::current()) {
  return detail_random::at<T, false>(counter, seed, w);
}
/// Mean 0, variance 1; else the same.
template <class T = float, class C, class K>
auto normal_at(const C& counter, const K& seed, detail::Where w = detail::Where::current()) {
  return detail_random::at<T, true>(counter, seed, w);
}

}  // namespace kiln::random
