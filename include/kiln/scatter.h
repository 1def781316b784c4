// kiln/scatter.h -- writing by index: kl::scatter_add, kl::scatter_max, kl::scatter_min, kl::histogram, kl::bincount.
//
//   kl::scatter_add(counts, bins, 1);             // a histogram
//   kl::scatter_add(grad_table, ids, grad, 0);    // the gradient of kl::take(table, ids, 0)
//
//   target    an Array or View that has elements, of any dtype but bool; changed in place, on its device
//   indices   integers of any type and rank, or an expression of such; negative ones count from the end; updates of an
//             index outside [-n, n) are dropped, and no other memory is touched
//   updates   an array, expression or number that broadcasts to the shape of the target with `axis` replaced by the
//             axes of `indices`; as if all updates were complete before the first one is added, whatever overlaps
//   repeats   the same device, shapes and layouts give the same bits. Sums of floats have a fixed order: updates are
//             sorted by their index and added in runs (f16 and bf16 in f32, rounded once). kl::unordered lets them meet
//             in any order instead, which takes less memory and is often faster on a GPU; results then differ in the
//             last bits from run to run. Those of f16 and bf16, which would be rounded after each update, are sorted in
//             any case. Integers, and the largest and smallest, do not depend on the order
//   errors    ShapeError for a missing axis, updates that do not fit, a target without elements of its own; floating
//             updates of integers and complex ones of reals do not compile
//   stream    asynchronous on the current stream of the thread
//   inspect   kl::scatter_add.inspect(target, indices, updates, axis) tells what a call runs, without running it
//
// They are statements, not expressions: a kl::jit function computes indices and updates, the caller scatters them.
#pragma once

#include <kiln/create.h>
#include <kiln/gather.h>

namespace kiln {

/// Lets kl::scatter_add of floats add in any order.
struct Unordered {};
inline constexpr Unordered unordered{};

namespace detail {

template <Scattering Operation, DType T, class I, class U>
inline constinit ScatterSites scatter_sites{};

/// A number as the only instruction of a program.
template <class C>
inline constexpr Instruction update_code{
    .kind = Instruction::argument, .type = Operand<C>::type.type, .source = Operand<C>::type.type};

/// Kinds as in NumPy's same_kind casting: floats join floats of any width, integers join everything.
constexpr bool may_join(DType target, OperandType updates) {
  if (is_complex(updates.type)) return is_complex(target);
  if (is_floating(updates.type)) return is_floating(target) || is_complex(target);
  return true;
}

template <class X, class Visit>
auto with_parts(const X& x, Visit visit) {
  if constexpr (is_number<X>) {
    const Slot slot = number_slot(x);
    return visit(Parts{&update_code<X>, &slot, 1});
  } else {
    const auto e = expression_of(x, false);
    return visit(e.parts());
  }
}

/// Calls `run(sites, call, target, indices, updates)` with everything of a scatter in place.
template <Scattering Operation, class X, class I, class U, class Run>
void with_scatter(X& target, const I& indices, const U& updates, bool unordered, std::int64_t axis, Run run) {
  constexpr DType type = std::remove_cvref_t<X>::dtype;
  static_assert(
      role_of<I> != Role::traced && role_of<U> != Role::traced,
      "kiln: a scatter changes an array and is a statement; return indices and updates from the kl::jit lambda");
  static_assert(role_of<I> == Role::traced || (role_of<I> == Role::array && is_integer(Operand<I>::type.type)),
                "kiln: indices are an array or expression of integers");
  static_assert(type != DType::b1, "kiln: bool targets have no sums; scatter into integers and compare");
  static_assert(Operation == Scattering::add || !is_complex(type), "kiln: complex numbers have no order");
  static_assert(role_of<U> != Role::none && may_join(type, Operand<U>::type),
                "kiln: updates of this kind do not join the target's elements; convert them with kl::cast");
  ScatterSites& sites = scatter_sites<Operation, type, typename Operand<I>::template Structure<Operand<I>::type.type>,
                                      typename Operand<U>::template Structure<Operand<U>::type.type>>;
  const ScatterCall call{Operation, unordered, axis, type};
  const Target to = target.target();
  with_parts(indices, [&](const Parts& at) {
    with_parts(updates, [&](const Parts& values) { run(sites, call, *to.handle, at, values); });
  });
}

template <class X>
concept scatter_target = requires(X& x) { x.target(); };

/// See kl::scatter_add.
template <Scattering Operation>
struct Scatter {
  template <class X, class I, class U>
    requires(scatter_target<X>)
  void operator()(X&& target, const I& indices, const U& updates, TakeAxis axis = 0, Where w = Where::current()) const {
    run(target, indices, updates, false, axis.value, w);
  }
  template <class X, class I, class U>
    requires(scatter_target<X> && Operation == Scattering::add)
  void operator()(X&& target, const I& indices, const U& updates, TakeAxis axis, Unordered,
                  Where w = Where::current()) const {
    run(target, indices, updates, true, axis.value, w);
  }
  template <class X, class I, class U>
    requires(scatter_target<X> && Operation == Scattering::add)
  void operator()(X&& target, const I& indices, const U& updates, Unordered, Where w = Where::current()) const {
    run(target, indices, updates, true, 0, w);
  }

  /// kl::scatter_add.inspect(target, indices, updates, axis): what the call would run, planned and compiled but not
  /// run, as f.inspect(...) of a compiled function; see kiln/inspect.h. The target is not changed. inspect_for: for
  /// another architecture ("sm_90"), which need not be present.
  template <class X, class I, class U>
    requires(scatter_target<X>)
  kiln::Inspection inspect(X&& target, const I& indices, const U& updates, TakeAxis axis = 0,
                           Where w = Where::current()) const {
    return inspected(target, indices, updates, false, axis.value, nullptr, w);
  }
  template <class X, class I, class U>
    requires(scatter_target<X> && Operation == Scattering::add)
  kiln::Inspection inspect(X&& target, const I& indices, const U& updates, TakeAxis axis, Unordered,
                           Where w = Where::current()) const {
    return inspected(target, indices, updates, true, axis.value, nullptr, w);
  }
  template <class X, class I, class U>
    requires(scatter_target<X>)
  kiln::Inspection inspect_for(const char* arch, X&& target, const I& indices, const U& updates, TakeAxis axis = 0,
                               Where w = Where::current()) const {
    return inspected(target, indices, updates, false, axis.value, arch, w);
  }
  template <class X, class I, class U>
    requires(scatter_target<X> && Operation == Scattering::add)
  kiln::Inspection inspect_for(const char* arch, X&& target, const I& indices, const U& updates, TakeAxis axis,
                               Unordered, Where w = Where::current()) const {
    return inspected(target, indices, updates, true, axis.value, arch, w);
  }

 private:
  template <class X, class I, class U>
  static void run(X& target, const I& indices, const U& updates, bool unordered, std::int64_t axis, Where w) {
    with_scatter<Operation>(target, indices, updates, unordered, axis,
                            [&](auto& sites, auto&&... all) { scatter(sites, all..., w); });
  }
  template <class X, class I, class U>
  static kiln::Inspection inspected(X& target, const I& indices, const U& updates, bool unordered, std::int64_t axis,
                                    const char* arch, Where w) {
    Inspection* inspection = nullptr;
    with_scatter<Operation>(target, indices, updates, unordered, axis,
                            [&](auto& sites, auto&&... all) { inspection = inspect_scatter(sites, all..., arch, w); });
    return kiln::Inspection(inspection);
  }
};

}  // namespace detail

/// kl::scatter_add(target, indices, updates, axis = 0): target[.., indices, ..] += updates, repeated indices included.
/// kl::scatter_add(target, indices, updates, [axis,] kl::unordered) adds floats in any order.
inline constexpr detail::Scatter<detail::Scattering::add> scatter_add{};
/// The larger of target and updates, as kl::maximum: NaN wins.
inline constexpr detail::Scatter<detail::Scattering::maximum> scatter_max{};
/// The smaller one, as kl::minimum.
inline constexpr detail::Scatter<detail::Scattering::minimum> scatter_min{};

/// How often each of 0, 1, .., n - 1 occurs; other indices are not counted.
template <class I>
Array<std::int64_t> bincount(const I& indices, std::int64_t n, detail::Where w = detail::Where::current()) {
  static_assert(is_integer(detail::Operand<I>::type.type), "kiln: kl::bincount counts integers");
  Array<std::int64_t> counts = zeros<std::int64_t>({n}, w);
  if constexpr (is_signed_integer(detail::Operand<I>::type.type)) {
    const auto at = detail::expression_of(indices, false);  // whose operators take the place of kl::where
    scatter_add(counts, where(at < 0, n, cast<std::int64_t>(at, w), w), 1, 0, w);
  } else {
    scatter_add(counts, indices, 1, 0, w);
  }
  return counts;
}

/// Without their number there are no counters.
template <class I>
  requires(detail::any_operand<I>)
Array<std::int64_t> bincount(const I&) {
  static_assert(detail::no_dtype<I>::value,
                "kiln: kl::bincount(indices, n) is told how many there may be: kl::max(indices).item() + 1");
  return {};
}

/// How many elements lie in each of `bins` equal parts of [lo, hi]: NumPy's rule, part i is [edge i, edge i + 1), the
/// last one includes hi; elements outside, and NaN, are not counted. Edges are lo + i * ((hi - lo) / bins), in f32 for
/// f16, bf16 and f32 elements, else in f64; equal ends stand for 0.5 more on either side. ShapeError for less than one
/// part, TypeError for ends that are not finite or not in their order.
template <class X>
  requires(detail::array_operand<X>)
Array<std::int64_t> histogram(const X& x, std::int32_t bins, double lo, double hi,
                              detail::Where w = detail::Where::current()) {
  constexpr DType type = detail::Operand<X>::type.type;
  static_assert(!is_complex(type), "kiln: complex numbers have no order");
  detail::check_histogram(bins, lo, hi, w);
  if (lo == hi) lo -= 0.5, hi += 0.5;
  using C = std::conditional_t<is_floating(type) && type != DType::f64, float, double>;
  const auto value = cast<C>(x, w);
  const C first = static_cast<C>(lo), last = static_cast<C>(hi), step = (last - first) / static_cast<C>(bins);
  const auto near = let(minimum(cast<std::int32_t>((value - first) / step, w), bins - 1, w));
  const auto below = cast<std::int32_t>(value < fma(cast<C>(near, w), step, first, w), w);
  const auto above = cast<std::int32_t>(value >= fma(cast<C>(near + 1, w), step, first, w) && near < bins - 1, w);
  const auto inside = value >= first && value <= last;
  Array<std::int64_t> counts = zeros<std::int64_t>({bins}, w);
  scatter_add(counts, where(inside, near - below + above, bins, w), 1, 0, w);
  return counts;
}
/// Nor parts without ends.
template <class X, class... A>
  requires(detail::any_operand<X> && (sizeof...(A) < 3 || detail::role_of<X> == detail::Role::traced))
Array<std::int64_t> histogram(const X&, const A&...) {
  constexpr bool traced = detail::role_of<X> == detail::Role::traced;
  static_assert(!traced, "kiln: kl::histogram makes an array and is a statement; return its values from the lambda");
  static_assert(traced,
                "kiln: kl::histogram is told its range: kl::histogram(x, bins, lo, hi), of all elements with "
                "lo = kl::min(x).item() and hi = kl::max(x).item()");
  return {};
}

}  // namespace kiln
